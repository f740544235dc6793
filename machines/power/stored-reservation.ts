// What is on disk of what a connector is reserved for: a start goes by it, so it is never less than what left.
import type { LeaseKind } from './grant.js';
import type { GrantLedger } from './grant-ledger.js';
import type { Holding } from './holding.js';
import type { Entry } from './ledger-entry.js';
import { ALL_PHASES, largerOf, type PhaseCount, phasesLoaded } from './own-phases.js';

/** Currents in tenths of an ampere per phase. */
export interface StoredReservation {
  readonly limitTenthsA: number;
  readonly thenTenthsA: number;
  /** How long its longest lease lasts. */
  readonly ttlMs: number;
  /** On how many of its phases. */
  readonly phases: PhaseCount;
}

export const NOTHING_STORED: StoredReservation = {
  limitTenthsA: 0,
  thenTenthsA: 0,
  ttlMs: 0,
  phases: ALL_PHASES,
};

/** What has to be on disk at `nowMs`. What differs from phase to phase counts with its most on all it may load. */
export function reservationOf(ledger: GrantLedger, holding: Holding, nowMs: number): StoredReservation {
  const phases = phasesLoaded(largerOf(holding.bounds, holding.failsafes));
  return {
    limitTenthsA: holding.boundTenthsA,
    thenTenthsA: holding.failsafeTenthsA,
    ttlMs: ledger.coveringTtlMs(holding, nowMs),
    phases: phases < holding.phases ? phases : ALL_PHASES,
  };
}

/**
 * How a start must take it to count leases. One that keeps them again may still be at what it was told while it kept none: until it
 * has taken something newer, a start must not wait for the end of that, but for its word.
 */
export function leaseToStore(holding: Holding): LeaseKind {
  const { lease, promises } = holding as Entry;
  return lease === 'heartbeat' && promises.isEndless ? 'none' : lease;
}

/** What it was told may last longer than its leases, and a start would not know that. */
export function isEndUnwritten(control: {
  readonly isEndOpen: boolean;
  readonly storedLease: LeaseKind | undefined;
  readonly holding: Holding;
}): boolean {
  return control.isEndOpen && control.storedLease !== leaseToStore(control.holding);
}

/** What is surely on disk where any of these may be. */
export function leastOf(all: readonly StoredReservation[]): StoredReservation {
  return {
    limitTenthsA: Math.min(...all.map(({ limitTenthsA }) => limitTenthsA)),
    thenTenthsA: Math.min(...all.map(({ thenTenthsA }) => thenTenthsA)),
    ttlMs: Math.min(...all.map(({ ttlMs }) => ttlMs)),
    phases: Math.min(...all.map(({ phases }) => phases)) as PhaseCount,
  };
}

/** The power of what is on disk of a connector, W. */
export function storedWOf(
  { milliwattsOnPhase, phases }: Holding,
  stored: Pick<StoredReservation, 'limitTenthsA' | 'phases'>,
): number {
  return (stored.limitTenthsA * Math.min(stored.phases, phases) * milliwattsOnPhase) / 1000;
}
