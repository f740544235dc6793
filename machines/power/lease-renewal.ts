// What a charger says that it holds, with a lease that lasts or without any; how long the next lease lasts, and when it is due.
import { tenthsAOf } from '../values/units.js';
import type { ConnectorControl } from './connector-control.js';
import { ttlMsOf } from './grant.js';
import { isWithoutSentGrant, leaseEndMsOf, toldTenthsA } from './ledger-room.js';
import { TOLD_AGAIN_AFTER_MS } from './room-beside.js';

/**
 * A grant younger than this share of a heartbeat is not renewed: a charger may report every change. Who connects again says so at
 * once, and its next heartbeat comes a whole one later: so it waits for its renewal for one and two thirds of a heartbeat at most.
 */
const RENEW_AFTER_HEARTBEATS = 2 / 3;
/** Unless its lease ends so soon that the next heartbeat could come too late. */
const RENEW_BEFORE_HEARTBEATS = 1.25;
/** How long a lease lasts where less may be ordered at any moment, if that is as soon as an order must be followed. */
const SHORT_LEASE_HEARTBEATS = 1.5;
const ORDER_FOLLOWED_WITHIN_MS = 15_000;
/** Leases are told in whole seconds. */
const SECOND_MS = 1_000;

/** Its charger, which was just heard, is to be told the same again now. */
export function isRenewalDue(control: ConnectorControl, nowMs: number): boolean {
  const { sentAtMs, holding, timing, leasedUntilMs, heardAtMs, isEndOpen } = control;
  // It waits for that.
  if (isEndOpen) return heardAtMs > sentAtMs;
  const isTaken = holding.ackedSeq === holding.lastSeq;
  const endsSoon = leasedUntilMs - nowMs < RENEW_BEFORE_HEARTBEATS * timing.heartbeatMs;
  const afterMs = isTaken ? RENEW_AFTER_HEARTBEATS * timing.heartbeatMs : TOLD_AGAIN_AFTER_MS;
  if (nowMs - sentAtMs < afterMs && !(isTaken && endsSoon)) return false;
  return heardAtMs > sentAtMs;
}

/** How long its lease lasts: short where an order may come and its end stops nobody, so that no other is stopped for it. */
export function ttlMsFor(
  { holding, timing }: ConnectorControl,
  thenTenthsA: number,
  areOrdersExpected: boolean,
): number {
  if (!areOrdersExpected || thenTenthsA < holding.leastTenthsA) return holding.ttlMs;
  const shortMs = SHORT_LEASE_HEARTBEATS * timing.heartbeatMs;
  return shortMs <= ORDER_FOLLOWED_WITHIN_MS ? Math.min(holding.ttlMs, shortMs) : holding.ttlMs;
}

/** What it says it is at while no grant of this start lasts, tenths of an ampere: on fewer phases, maybe, than it is to use. */
export function ungrantedTenthsA({ holding, slot }: ConnectorControl): number {
  return isWithoutSentGrant(holding) ? Math.min(tenthsAOf(slot.limitA ?? 0), holding.boundTenthsA) : 0;
}

/** What it was told last it says that it holds, and its lease lasts: so much of that, tenths of an ampere. */
export function leasedTenthsA({ holding, slot }: ConnectorControl, nowMs: number): number {
  if (leaseEndMsOf(holding) <= nowMs) return 0;
  return Math.min(tenthsAOf(slot.limitA ?? 0), toldTenthsA(holding));
}

/** The longest lease, ms from its newest heartbeat, that ends no later than what it was told last. */
export function restOfLeaseMs({ holding, heardAtMs }: ConnectorControl): number {
  // Rounded up by less than a millisecond.
  const leftMs = ttlMsOf(leaseEndMsOf(holding) - heardAtMs) - 1;
  return Math.max(0, Math.min(Math.floor(leftMs / SECOND_MS) * SECOND_MS, holding.ttlMs));
}
