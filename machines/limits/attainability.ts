// Preview of a write: finds the times at which locks and 6 A floors do not fit the coming limits.

import type { EpochMs, TimeWindow } from '../values/time.js';
import { tenthsWithin, wattsOfLimit, wattsOfTenths } from '../values/units.js';
import type { Writable } from '../values/writable.js';
import type { LimitInForce } from './limit-in-force.js';
import { compositeTimeline, type LimitProfile, type ProfileStack } from './profile-stack.js';

/** A connector with the data that locks and floors need. */
export interface ConnectorAhead {
  readonly stack: ProfileStack;
  readonly maxTenthsA: number;
  /** Power of a tenth of an ampere, mW. */
  readonly milliwattsPerTenth: number;
  /** Smallest limit other than 0: 6 A for AC. */
  readonly leastTenthsA: number;
}

/**
 * Shortages, worst first.
 * - `unattainable`: the floors of locked connectors do not fit, so the limit cannot be kept.
 * - `lastResort`: the limits of locks do not fit, so locked connectors are throttled.
 * - `turns`: the floors of all connectors do not fit, so connectors take turns (rotation).
 */
export const SHORTAGES = ['unattainable', 'lastResort', 'turns'] as const;
export type Shortage = (typeof SHORTAGES)[number];

/** A window with one shortage throughout. Whole W, from the time of the largest gap. */
export interface Shortfall extends TimeWindow {
  readonly shortage: Shortage;
  readonly neededW: number;
  readonly limitW: number;
}

/**
 * Windows in which `written`, already in `stack`, may have changed the limit, from `now` on: its own window, and that
 * of the profile that it `replaced`. Times at which a profile of higher priority decides are left out.
 */
export function spansOfProfile(
  stack: ProfileStack,
  written: LimitProfile,
  replaced: LimitProfile | undefined,
  now: EpochMs,
): readonly TimeWindow[] {
  const higher = stack.filter(({ priority }) => priority > written.priority);
  const traces = [...(replaced === undefined ? [] : [{ ...replaced, priority: -1 }]), written, ...higher];
  const endsAtMs = Math.max(written.endsAtMs, replaced?.endsAtMs ?? now);
  return compositeTimeline(traces, undefined, { startsAtMs: now, endsAtMs }).filter(
    ({ priority }) => priority !== undefined && priority <= written.priority,
  );
}

/** Windows in which the permanent limit decides, from `now` on without end. */
export function spansOfPermanentLimit(stack: ProfileStack, now: EpochMs): readonly TimeWindow[] {
  const ahead = { startsAtMs: now, endsAtMs: Number.POSITIVE_INFINITY };
  return compositeTimeline(stack, undefined, ahead).filter(({ priority }) => priority === undefined);
}

/** A limit in force, with the time in which it holds. */
type LimitOverTime = TimeWindow & Pick<LimitInForce, 'limitKw'>;

/**
 * O(n log n) in the windows of all connectors.
 * @param limits in order and without overlap
 * @returns shortfalls in order of time; adjacent ones differ in their shortage
 */
export function findShortfalls(
  limits: readonly LimitOverTime[],
  connectors: readonly ConnectorAhead[],
): readonly Shortfall[] {
  const window = { startsAtMs: limits[0]?.startsAtMs ?? 0, endsAtMs: limits.at(-1)?.endsAtMs ?? 0 };
  let lowestW = Number.POSITIVE_INFINITY;
  for (const { limitKw } of limits) lowestW = Math.min(lowestW, wattsOfLimit(limitKw));
  let floorsW = 0;
  let mostW = 0;
  for (const connector of connectors) {
    floorsW += floorWOf(connector);
    mostW += mostLockWOf(connector, window);
  }
  if (floorsW <= lowestW && mostW <= lowestW) return [];
  return sweep(limits, lockChanges(connectors, window), floorsW);
}

/** Change of the power that all locks need together, from an instant on, W. */
interface LockChange {
  floorW: number;
  lockW: number;
}

function sweep(
  limits: readonly LimitOverTime[],
  changes: ReadonlyMap<EpochMs, LockChange>,
  floorsW: number,
): readonly Shortfall[] {
  // Written in place: one window may have thousands of pieces.
  const found: Writable<Shortfall>[] = [];
  // A typed array sorts its numbers without a comparison function: five times as fast.
  const instants = Float64Array.from(changes.keys()).sort();
  let [lockedFloorsW, locksW, next] = [0, 0, 0];
  for (const limit of limits) {
    const limitW = wattsOfLimit(limit.limitKw);
    let { startsAtMs } = limit;
    while (startsAtMs < limit.endsAtMs) {
      for (let atMs = instants[next]; atMs !== undefined && atMs <= startsAtMs; atMs = instants[++next]) {
        lockedFloorsW += changes.get(atMs)?.floorW ?? 0;
        locksW += changes.get(atMs)?.lockW ?? 0;
      }
      const endsAtMs = Math.min(instants[next] ?? limit.endsAtMs, limit.endsAtMs);
      const window = { startsAtMs, endsAtMs };
      if (lockedFloorsW > limitW) note(found, window, 'unattainable', lockedFloorsW, limitW);
      else if (locksW > limitW) note(found, window, 'lastResort', locksW, limitW);
      else if (floorsW > limitW) note(found, window, 'turns', floorsW, limitW);
      startsAtMs = endsAtMs;
    }
  }
  return found;
}

/** Appends a shortfall, or extends the last one if the shortage is the same. */
function note(
  found: Writable<Shortfall>[],
  { startsAtMs, endsAtMs }: TimeWindow,
  shortage: Shortage,
  neededW: number,
  limitW: number,
): void {
  const last = found.at(-1);
  if (last === undefined || last.shortage !== shortage || last.endsAtMs !== startsAtMs) {
    found.push({ startsAtMs, endsAtMs, shortage, neededW, limitW });
    return;
  }
  last.endsAtMs = endsAtMs;
  if (neededW - limitW <= last.neededW - last.limitW) return;
  last.neededW = neededW;
  last.limitW = limitW;
}

function lockChanges(
  connectors: readonly ConnectorAhead[],
  window: TimeWindow,
): ReadonlyMap<EpochMs, LockChange> {
  const changes = new Map<EpochMs, LockChange>();
  function add(atMs: EpochMs, floorW: number, lockW: number): void {
    const change = changes.get(atMs);
    if (change === undefined) {
      changes.set(atMs, { floorW, lockW });
    } else {
      change.floorW += floorW;
      change.lockW += lockW;
    }
  }
  for (const connector of connectors) {
    if (connector.stack.length === 0) continue;
    const floorW = floorWOf(connector);
    for (const { startsAtMs, endsAtMs, limitKw } of compositeTimeline(connector.stack, undefined, window)) {
      if (limitKw === undefined) continue;
      const lockW = lockWOf(connector, limitKw);
      add(startsAtMs, floorW, lockW);
      add(endsAtMs, -floorW, -lockW);
    }
  }
  return changes;
}

function floorWOf({ leastTenthsA, milliwattsPerTenth }: ConnectorAhead): number {
  return wattsOfTenths(leastTenthsA, milliwattsPerTenth);
}

/** Power that a lock at `limitKw` may use: at most the connector's maximum, at least its floor. */
function lockWOf({ leastTenthsA, maxTenthsA, milliwattsPerTenth }: ConnectorAhead, limitKw: number): number {
  const tenthsA = Math.min(tenthsWithin(wattsOfLimit(limitKw), milliwattsPerTenth), maxTenthsA);
  return wattsOfTenths(Math.max(tenthsA, leastTenthsA), milliwattsPerTenth);
}

/** Highest power of any lock of the connector inside the window; 0 without a lock. */
function mostLockWOf(connector: ConnectorAhead, window: TimeWindow): number {
  let mostKw = 0;
  for (const { startsAtMs, endsAtMs, limitKw } of connector.stack) {
    if (startsAtMs < window.endsAtMs && endsAtMs > window.startsAtMs && limitKw > mostKw) mostKw = limitKw;
  }
  return mostKw === 0 ? 0 : lockWOf(connector, mostKw);
}
