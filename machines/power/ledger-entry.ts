// What a ledger of grants keeps of one connector, and what of it lasts.
import { MINIMUM_TENTHS_A } from '../values/units.js';
import type { Writable } from '../values/writable.js';
import type { GrantTiming } from './grant.js';
import type { Holding, HoldingSpec } from './holding.js';
import { Fallbacks, type Promised, Promises } from './promises.js';

/** A grant as it was given; no promise once that has ended. */
interface Told {
  readonly seq: number;
  promise: Promised | undefined;
  readonly thenTenthsA: number;
}

/** A holding as the ledger itself writes it. */
export interface Entry extends Writable<Holding> {
  readonly promises: Promises;
  /** The newest grant that left. What its charger says of itself may be older. */
  told: Told | undefined;
  /** The newest grant, where it has not left yet, or never will: nothing is granted because of it. */
  waiting: Told | undefined;
  /** What its charger holds by a grant from before the start; counts until the first grant. */
  heldTenthsA: number;
  fallbacks: Fallbacks;
}

export function createEntry(key: string, spec: HoldingSpec, { ttlMs, settleMs }: GrantTiming): Entry {
  return {
    key,
    maxTenthsA: spec.maxTenthsA,
    milliwattsPerTenth: spec.milliwattsPerTenth,
    leastTenthsA: spec.leastTenthsA ?? MINIMUM_TENTHS_A,
    lease: spec.lease,
    ttlMs: spec.ttlMs ?? ttlMs,
    keepsThen: spec.keepsThen,
    poles: spec.poles ?? [],
    isWorstCase: false,
    loadTenthsA: 0,
    boundTenthsA: 0,
    entitledTenthsA: 0,
    boundW: 0,
    failsafeTenthsA: 0,
    lastSeq: 0,
    ackedSeq: 0,
    ownFailsafeTenthsA: 0,
    saidFailsafeTenthsA: spec.failsafeTenthsA,
    promises: new Promises(settleMs),
    told: undefined,
    waiting: undefined,
    heldTenthsA: 0,
    isDescribed: false,
    fallbacks: new Fallbacks(spec.failsafeTenthsA),
  };
}

/**
 * What it stays entitled to, by the newest grant that left, when all that is on its way out has ended. What was larger before
 * is no room for a grant: where more is reserved than the budget allows, it would last a whole lease longer instead of ending.
 */
export function lastingTenthsA(entry: Entry): number {
  if (entry.isWorstCase) return entry.maxTenthsA;
  // Before it spoke for itself it may be one that keeps what it was told, which may be less than its own fail-safe.
  const ownTenthsA = entry.isDescribed ? entry.ownFailsafeTenthsA : 0;
  // Before the first grant only what was on disk is known, and that may have ended long ago.
  if (entry.told === undefined) return Math.min(ownTenthsA, entry.maxTenthsA);
  const { promise, thenTenthsA } = entry.told;
  return Math.max(ownTenthsA, promise?.limitTenthsA ?? 0, thenTenthsA);
}

/**
 * The same, and before the first grant what its charger says it holds by one of an owner before. That it may be granted anew
 * where there is room says nothing of where there is none: the owner before may have been lowering it.
 */
export function expectedTenthsA(entry: Entry): number {
  const lasting = lastingTenthsA(entry);
  if (entry.lastSeq > 0) return lasting;
  const heldTenthsA = Math.min(entry.heldTenthsA, entry.promises.mostTenthsA, entry.maxTenthsA);
  return Math.max(lasting, heldTenthsA);
}

/** The lease of `seq` ends at the latest then. */
export function endBy({ promises, told }: Entry, seq: number, endsAtMs: number): void {
  promises.endBy(seq, endsAtMs);
  // A grant that waits may have outbid it, so that it is not among them any more.
  if (told?.seq === seq && told.promise !== undefined)
    told.promise.endsAtMs = Math.min(told.promise.endsAtMs, endsAtMs);
}
