// Limit that a charger has shown to keep at a connector: a lease until it ends, and its fallback.
import type { LeaseSlot, LimitToTake, SentLimits } from './gateway-request.js';
import type { CountedPhases } from './lease-schedule.js';
import type { SentHeartbeat } from './sent-heartbeats.js';

/** `epoch` and `seq` are 0 without a lease. Currents in A per phase. */
export interface HeldLease extends SentLimits {
  readonly epoch: number;
  readonly seq: number;
  /** The lease has surely ended by then, by the gateway's clock; infinite without a lease. */
  readonly endsAtMs: number;
  readonly ttlMs: number;
  readonly slot: LeaseSlot | undefined;
  /** As in the schedule; undefined if the schedule must be written anew in any case. */
  readonly counted: CountedPhases | undefined;
  /** Newest grant behind the lease; it may allow more than the limit sent to the charger. Undefined without a grant. */
  readonly limit: LimitToTake | undefined;
  readonly sent: SentLimits;
}

/** State without a lease: the charger falls back to `limitA`. */
export function fallbackTo(limitA: number): HeldLease {
  const none = { epoch: 0, seq: 0, ttlMs: 0, slot: undefined, limit: undefined, counted: undefined };
  return { ...none, limitA, thenA: limitA, sent: { limitA, thenA: limitA }, endsAtMs: Infinity };
}

export function areSameLimits(a: SentLimits, b: SentLimits): boolean {
  return a.limitA === b.limitA && a.thenA === b.thenA;
}

/** End of a limit that answers that heartbeat, by the gateway's clock. */
export function endOf({ ttlS }: LimitToTake, { sentAtMs }: SentHeartbeat): number {
  return sentAtMs + 1000 * ttlS;
}
