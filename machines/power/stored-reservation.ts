// Reservation of a connector on disk. It is never below the grants that left, because the next start relies on it.
import type { LeaseKind } from './grant.js';
import type { GrantLedger } from './grant-ledger.js';
import type { LedgerAccount } from './ledger-account.js';
import type { Entry } from './ledger-entry.js';
import { ALL_PHASES, largerOf, type PhaseCount, phasesLoaded } from './own-phases.js';

/** Currents in tenths of an ampere per phase. */
export interface StoredReservation {
  readonly limitTenthsA: number;
  readonly thenTenthsA: number;
  /** Longest lease. */
  readonly ttlMs: number;
  /** Number of the connector's phases. */
  readonly phases: PhaseCount;
}

export const NOTHING_STORED: StoredReservation = {
  limitTenthsA: 0,
  thenTenthsA: 0,
  ttlMs: 0,
  phases: ALL_PHASES,
};

/**
 * Reservation that must be on disk at `nowMs`. Different currents per phase count at their maximum on all loaded
 * phases.
 */
export function reservationOf(ledger: GrantLedger, account: LedgerAccount, nowMs: number): StoredReservation {
  const phases = phasesLoaded(largerOf(account.bounds, account.failsafes));
  return {
    limitTenthsA: account.boundTenthsA,
    thenTenthsA: account.failsafeTenthsA,
    ttlMs: ledger.coveringTtlMs(account, nowMs),
    phases: phases < account.phases ? phases : ALL_PHASES,
  };
}

/**
 * Lease kind that the next start must assume. A charger that keeps leases again may still hold a limit without an end
 * from before. Until it has taken a newer one, a start must await its report and not an end.
 */
export function leaseToStore(account: LedgerAccount): LeaseKind {
  const { lease, outstanding } = account as Entry;
  return lease === 'heartbeat' && outstanding.isEndless ? 'none' : lease;
}

/** Earlier limits may outlast their leases, and the row on disk does not show that. */
export function isEndUnwritten(control: {
  readonly isEndOpen: boolean;
  readonly storedLease: LeaseKind | undefined;
  readonly account: LedgerAccount;
}): boolean {
  return control.isEndOpen && control.storedLease !== leaseToStore(control.account);
}

/** The part that is certainly on disk if any of these reservations may be there. */
export function leastOf(all: readonly StoredReservation[]): StoredReservation {
  return {
    limitTenthsA: Math.min(...all.map(({ limitTenthsA }) => limitTenthsA)),
    thenTenthsA: Math.min(...all.map(({ thenTenthsA }) => thenTenthsA)),
    ttlMs: Math.min(...all.map(({ ttlMs }) => ttlMs)),
    phases: Math.min(...all.map(({ phases }) => phases)) as PhaseCount,
  };
}

/** Power of a reservation on disk, W. */
export function storedWOf(
  { milliwattsOnPhase, phases }: LedgerAccount,
  stored: Pick<StoredReservation, 'limitTenthsA' | 'phases'>,
): number {
  return (stored.limitTenthsA * Math.min(stored.phases, phases) * milliwattsOnPhase) / 1000;
}
