// What a charger is known to keep to at a connector: a lease until it ends, and what follows it.
import type { LimitToTake } from './gateway-request.js';
import type { CountedPhases } from './lease-schedule.js';
import type { SentHeartbeat } from './sent-heartbeats.js';

/** Where the charger has a lease: as its default while no transaction runs, or with the transaction. */
export type LeaseSlot = 'default' | 'transaction';

/** What the charger may be told of a grant, A per phase: another system may want less. */
export interface Told {
  readonly limitA: number;
  readonly thenA: number;
}

/** `epoch` and `seq` are 0 without a lease. A per phase. */
export interface HeldLease extends Told {
  readonly epoch: number;
  readonly seq: number;
  /** When it surely has ended, by our clock; infinite without a lease. */
  readonly endsAtMs: number;
  readonly ttlMs: number;
  readonly slot: LeaseSlot | undefined;
  /** As in its schedule; undefined where it is to be written anew in any case. */
  readonly counted: CountedPhases | undefined;
  /** The newest grant that it stands for, which may allow more than what the charger was told; undefined without one. */
  readonly limit: LimitToTake | undefined;
  readonly told: Told;
}

/** Without a lease: the charger falls back to `limitA`. */
export function fallbackTo(limitA: number): HeldLease {
  const none = { epoch: 0, seq: 0, ttlMs: 0, slot: undefined, limit: undefined, counted: undefined };
  return { ...none, limitA, thenA: limitA, told: { limitA, thenA: limitA }, endsAtMs: Infinity };
}

export function isSameTold(a: Told, b: Told): boolean {
  return a.limitA === b.limitA && a.thenA === b.thenA;
}

/** When a limit ends that answers that heartbeat, by our clock. */
export function endOf({ ttlS }: LimitToTake, { sentAtMs }: SentHeartbeat): number {
  return sentAtMs + 1000 * ttlS;
}
