// Length and due time of lease renewals, and the limit that a charger still holds by a lease.
import { tenthsAOf } from '../values/units.js';
import type { ConnectorControl } from './connector-control.js';
import { ttlMsOf } from './grant.js';
import { grantedTenthsA, isWithoutSentGrant, leaseEndMsOf } from './ledger-capacity.js';
import { REPEAT_AFTER_MS } from './remaining-capacity.js';

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
  const { sentAtMs, account, timing, leasedUntilMs, receivedAtMs, isEndOpen } = control;
  // The charger awaits that answer.
  if (isEndOpen) return receivedAtMs > sentAtMs;
  const isTaken = account.ackedSeq === account.lastSeq;
  const endsSoon = leasedUntilMs - nowMs < RENEW_BEFORE_HEARTBEATS * timing.heartbeatMs;
  const afterMs = isTaken ? RENEW_AFTER_HEARTBEATS * timing.heartbeatMs : REPEAT_AFTER_MS;
  if (nowMs - sentAtMs < afterMs && !(isTaken && endsSoon)) return false;
  return receivedAtMs > sentAtMs;
}

/**
 * Lease length. It is short if an order may come and the fallback does not stop the car. Then an unreachable charger
 * stops no other.
 */
export function ttlMsFor(
  { account, timing }: ConnectorControl,
  thenTenthsA: number,
  areOrdersExpected: boolean,
): number {
  if (!areOrdersExpected || thenTenthsA < account.leastTenthsA) return account.ttlMs;
  const shortMs = SHORT_LEASE_HEARTBEATS * timing.heartbeatMs;
  return shortMs <= ORDER_FOLLOWED_WITHIN_MS ? Math.min(account.ttlMs, shortMs) : account.ttlMs;
}

/**
 * Limit that the charger reports while no grant of this service lasts, tenths of an ampere. It may be for fewer phases
 * than intended.
 */
export function ungrantedTenthsA({ account, slot }: ConnectorControl): number {
  return isWithoutSentGrant(account) ? Math.min(tenthsAOf(slot.limitA ?? 0), account.boundTenthsA) : 0;
}

/**
 * Part of the newest sent limit that the charger still holds under a valid lease, tenths of an ampere; 0 without one.
 */
export function leasedTenthsA({ account, slot }: ConnectorControl, nowMs: number): number {
  if (leaseEndMsOf(account) <= nowMs) return 0;
  return Math.min(tenthsAOf(slot.limitA ?? 0), grantedTenthsA(account));
}

/** Longest lease, ms from the newest heartbeat, that ends no later than the newest sent grant. */
export function restOfLeaseMs({ account, receivedAtMs }: ConnectorControl): number {
  // `ttlMsOf` rounds up by less than a millisecond.
  const leftMs = ttlMsOf(leaseEndMsOf(account) - receivedAtMs) - 1;
  return Math.max(0, Math.min(Math.floor(leftMs / SECOND_MS) * SECOND_MS, account.ttlMs));
}
