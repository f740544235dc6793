// Length and due time of lease renewals, and the limit that a charger still holds by a lease.
import { tenthsAOf } from '../values/units.js';
import type { ConnectorControl } from './connector-control.js';
import { ttlMsOf } from './grant.js';
import { isWithoutSentGrant, leaseEndMsOf, toldTenthsA } from './ledger-room.js';
import { TOLD_AGAIN_AFTER_MS } from './room-beside.js';

/**
 * A younger grant, as a share of a heartbeat, is not renewed, because a charger may report every change. A charger
 * reports at once after a reconnect, and its next heartbeat comes a whole interval later. So a renewal takes at most
 * one and two thirds of a heartbeat.
 */
const RENEW_AFTER_HEARTBEATS = 2 / 3;
/** A lease that ends within this many heartbeats is renewed earlier, because the next heartbeat could come too late. */
const RENEW_BEFORE_HEARTBEATS = 1.25;
/**
 * Short lease while a lower order may come at any moment. It applies only if it ends within the time to follow an
 * order.
 */
const SHORT_LEASE_HEARTBEATS = 1.5;
const ORDER_FOLLOWED_WITHIN_MS = 15_000;
/** Leases have whole seconds on the wire. */
const SECOND_MS = 1_000;

/** The current limit is due for renewal after this heartbeat. */
export function isRenewalDue(control: ConnectorControl, nowMs: number): boolean {
  const { sentAtMs, holding, timing, leasedUntilMs, heardAtMs, isEndOpen } = control;
  // The charger awaits that answer.
  if (isEndOpen) return heardAtMs > sentAtMs;
  const isTaken = holding.ackedSeq === holding.lastSeq;
  const endsSoon = leasedUntilMs - nowMs < RENEW_BEFORE_HEARTBEATS * timing.heartbeatMs;
  const afterMs = isTaken ? RENEW_AFTER_HEARTBEATS * timing.heartbeatMs : TOLD_AGAIN_AFTER_MS;
  if (nowMs - sentAtMs < afterMs && !(isTaken && endsSoon)) return false;
  return heardAtMs > sentAtMs;
}

/**
 * Lease length. It is short if an order may come and the fallback does not stop the car. Then an unreachable charger
 * stops no other.
 */
export function ttlMsFor(
  { holding, timing }: ConnectorControl,
  thenTenthsA: number,
  areOrdersExpected: boolean,
): number {
  if (!areOrdersExpected || thenTenthsA < holding.leastTenthsA) return holding.ttlMs;
  const shortMs = SHORT_LEASE_HEARTBEATS * timing.heartbeatMs;
  return shortMs <= ORDER_FOLLOWED_WITHIN_MS ? Math.min(holding.ttlMs, shortMs) : holding.ttlMs;
}

/**
 * Limit that the charger reports while no grant of this service lasts, tenths of an ampere. It may be for fewer phases
 * than intended.
 */
export function ungrantedTenthsA({ holding, slot }: ConnectorControl): number {
  return isWithoutSentGrant(holding) ? Math.min(tenthsAOf(slot.limitA ?? 0), holding.boundTenthsA) : 0;
}

/**
 * Part of the newest sent limit that the charger still holds under a valid lease, tenths of an ampere; 0 without one.
 */
export function leasedTenthsA({ holding, slot }: ConnectorControl, nowMs: number): number {
  if (leaseEndMsOf(holding) <= nowMs) return 0;
  return Math.min(tenthsAOf(slot.limitA ?? 0), toldTenthsA(holding));
}

/** Longest lease, ms from the newest heartbeat, that ends no later than the newest sent grant. */
export function restOfLeaseMs({ holding, heardAtMs }: ConnectorControl): number {
  // `ttlMsOf` rounds up by less than a millisecond.
  const leftMs = ttlMsOf(leaseEndMsOf(holding) - heardAtMs) - 1;
  return Math.max(0, Math.min(Math.floor(leftMs / SECOND_MS) * SECOND_MS, holding.ttlMs));
}
