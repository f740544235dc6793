// Looking ahead of a write: whether locks and 6 A floors will fit the limits to come, and from when to when they do not.

import type { EpochMs, TimeWindow } from '../values/time.js';
import { tenthsWithin, wattsOfLimit, wattsOfTenths } from '../values/units.js';
import type { Writable } from '../values/writable.js';
import type { LimitSegment } from './limit-in-force.js';
import { compositeTimeline, type LimitProfile, type ProfileStack } from './profile-stack.js';

/** A connector as far as locks and floors concern it. */
export interface ConnectorAhead {
  readonly stack: ProfileStack;
  readonly maxTenthsA: number;
  /** Power of a tenth of an ampere, mW. */
  readonly milliwattsPerTenth: number;
  /** The least it can be told other than 0: 6 A for AC. */
  readonly leastTenthsA: number;
}

/**
 * What does not fit, from worst: the floors of the locked connectors, so that the limit cannot be kept; the limits of
 * their locks, so that they are throttled as a last resort; the floors of all connectors, so that they take turns.
 */
export const SHORTAGES = ['unattainable', 'lastResort', 'turns'] as const;
export type Shortage = (typeof SHORTAGES)[number];

/** A window throughout which the same thing does not fit. Whole W, as they are where most is missing. */
export interface Shortfall extends TimeWindow {
  readonly shortage: Shortage;
  readonly neededW: number;
  readonly limitW: number;
}

/**
 * When `written`, which is in `stack`, can have changed what applies: inside its own window and the one of the profile it
 * `replaced`, from `now` on, wherever no profile of higher priority decides anyway.
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

/** When the permanent limit decides, from `now` on without end. */
export function spansOfPermanentLimit(stack: ProfileStack, now: EpochMs): readonly TimeWindow[] {
  const ahead = { startsAtMs: now, endsAtMs: Number.POSITIVE_INFINITY };
  return compositeTimeline(stack, undefined, ahead).filter(({ priority }) => priority === undefined);
}

/**
 * Where locks and floors do not fit `limits`, which are in order and do not overlap; in order of time, those that touch
 * differing in what does not fit. O(n log n) in the windows of all connectors.
 */
export function findShortfalls(
  limits: readonly LimitSegment[],
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

/** How much more, or less, the locks together need from an instant on than before it: W. */
interface LockChange {
  floorW: number;
  lockW: number;
}

function sweep(
  limits: readonly LimitSegment[],
  changes: ReadonlyMap<EpochMs, LockChange>,
  floorsW: number,
): readonly Shortfall[] {
  // Written in place: there may be thousands of pieces to one window.
  const found: Writable<Shortfall>[] = [];
  // A typed array sorts its numbers without asking anybody which is less: five times as fast.
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

/** Appends a shortfall, or lets the last one go on where the same thing does not fit. */
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

/** What a lock at `limitKw` may use: at most the connector's maximum, at least its floor. */
function lockWOf({ leastTenthsA, maxTenthsA, milliwattsPerTenth }: ConnectorAhead, limitKw: number): number {
  const tenthsA = Math.min(tenthsWithin(wattsOfLimit(limitKw), milliwattsPerTenth), maxTenthsA);
  return wattsOfTenths(Math.max(tenthsA, leastTenthsA), milliwattsPerTenth);
}

/** The most any lock of the connector may use inside the window; 0 where it has none. */
function mostLockWOf(connector: ConnectorAhead, window: TimeWindow): number {
  let mostKw = 0;
  for (const { startsAtMs, endsAtMs, limitKw } of connector.stack) {
    if (startsAtMs < window.endsAtMs && endsAtMs > window.startsAtMs && limitKw > mostKw) mostKw = limitKw;
  }
  return mostKw === 0 ? 0 : lockWOf(connector, mostKw);
}
