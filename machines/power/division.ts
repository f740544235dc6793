// Divides what a location may use among its connectors, as their locks, turns and cars are now.

import { tenthsAOf, tenthsWithin, wattsOfLimit, wattsOfTenths } from '../values/units.js';
import { type Allocation, allocate } from './allocation.js';
import type { Claim } from './claims.js';
import { type ConnectorControl, floorWOf, isLocked, lockLimitKwOf } from './connector-control.js';
import { heldLoadTenthsAOf, heldTenthsAOf, heldWOf } from './failsafes.js';
import type { PhaseCount } from './own-phases.js';
import type { Served } from './phase-choice.js';
import {
  inTurnOrder,
  isAboutToResume,
  isDwelling,
  isKeptOn,
  lastPauseAtMs,
  swapsApartMs,
  turnMsOf,
} from './turns.js';

/** What there is to share beside connectors that cannot be told. */
export interface Available {
  /** What they leave of the budget, W. */
  readonly availableW: number;
  /** What they leave of each pole, tenths of an ampere. */
  readonly availableTenthsA: readonly number[];
  /** What they leave of the grid operator's limit, W; infinite where there is none. */
  readonly operatorLeavesW: number;
}

export interface Switching {
  /** Grants for it are for so many of its phases from here on. */
  useOn(control: ConnectorControl, phases: PhaseCount): void;
  /** What there is once the leases of those that cannot be told have ended. */
  readonly lasting: Available;
}

export interface Circumstances extends Available {
  /** After which an acknowledged decrease has freed what it took. */
  readonly settleMs: number;
  readonly nowMs: number;
  /** Left out, everybody stays on the phases of now. */
  readonly switching?: Switching | undefined;
}

export interface Limits {
  readonly isClusterBound: boolean;
  isLockNear(key: string): boolean;
}

export interface Division {
  readonly allocation: Allocation;
  readonly locked: readonly ConnectorControl[];
  /** In the order of their turns; those at rest have their target already. */
  readonly unlocked: readonly ConnectorControl[];
  /** What all of these may use together, W. */
  readonly availableW: number;
  /** The same of each pole, tenths of an ampere. */
  readonly availableTenthsA: readonly number[];
}

export function divide(
  controlled: readonly ConnectorControl[],
  limits: Limits,
  { availableW, availableTenthsA, settleMs, nowMs }: Circumstances,
): Division {
  const locked: ConnectorControl[] = [];
  const near: ConnectorControl[] = [];
  const rest: ConnectorControl[] = [];
  let leftW = availableW;
  const leftTenthsA = [...availableTenthsA];
  for (const control of controlled) {
    if (control.isPausedForOperator) {
      control.targetTenthsA = 0;
      control.reason = 'paused';
      leftW -= heldWOf(control);
      deductLoad(leftTenthsA, control, 0);
    } else if (isLocked(control)) {
      locked.push(control);
    } else if (control.demand.hasCar && limits.isLockNear(control.key)) {
      // One that is about to be locked must have its floor by then: it is first among the unlocked.
      near.push(control);
    } else if (
      control.demand.hasCar &&
      (!isDwelling(control, nowMs) || isAboutToResume(control, nowMs, settleMs))
    ) {
      // One whose pause is about to end has its share already, unused: else others would have it when it ends.
      rest.push(control);
    } else {
      leftW -= keepAtRest(control);
      deductLoad(leftTenthsA, control, 0);
    }
  }
  const swapsFromMs = lastPauseAtMs(controlled) + swapsApartMs(settleMs);
  const swaps = { swapsFromMs, turnMs: turnMsOf(controlled) };
  const unlocked = [...near, ...inTurnOrder(rest, nowMs, swaps)];
  // Where a fuse does not carry the floors of all locks, those that run go on.
  locked.sort((a, b) => Number(isRunning(b)) - Number(isRunning(a)));
  const allocation = allocate(
    leftW,
    locked.map(claimOfLocked),
    unlocked.map((control) => claimOfUnlocked(control, limits)),
    leftTenthsA,
  );
  return { allocation, locked, unlocked, availableW: leftW, availableTenthsA: leftTenthsA };
}

/** By what it was told, or says that it holds. */
export function isRunning({ sentTenthsA, holding, slot: { limitA = 0 } }: ConnectorControl): boolean {
  return (sentTenthsA ?? tenthsAOf(limitA)) >= holding.leastTenthsA;
}

/** Its pause is not over, though it has a share already. */
export function isPauseKept(control: ConnectorControl, limits: Limits, nowMs: number): boolean {
  return isDwelling(control, nowMs) && !limits.isLockNear(control.key);
}

/** A connector without a car gets what is reserved for it anyway, one that stays paused for now nothing: W reserved. */
export function keepAtRest(control: ConnectorControl): number {
  const heldTenthsA = heldTenthsAOf(control);
  const isUsable = !control.demand.hasCar && heldTenthsA >= control.holding.leastTenthsA;
  control.targetTenthsA = isUsable ? heldTenthsA : 0;
  control.reason = control.demand.hasCar ? 'minimumPause' : 'idle';
  return heldWOf(control);
}

function claimOf(control: ConnectorControl, wantedTenthsA: number, isResting: boolean): Claim {
  const { milliwattsPerTenth, leastTenthsA, maxTenthsA, poles } = control.holding;
  const heldTenthsA = heldTenthsAOf(control);
  const hasFuses = poles.length > 0;
  const heldLoadTenthsA = hasFuses ? heldLoadTenthsAOf(control) : 0;
  const floorTenthsA = Math.max(leastTenthsA, heldTenthsA, heldLoadTenthsA);
  const mostTenthsA = Math.max(floorTenthsA, Math.min(wantedTenthsA, maxTenthsA));
  return {
    heldW: wattsOfTenths(heldTenthsA, milliwattsPerTenth),
    floorW: wattsOfTenths(floorTenthsA, milliwattsPerTenth),
    mostW: wattsOfTenths(mostTenthsA, milliwattsPerTenth),
    isResting,
    load: hasFuses ? { poles, milliwattsPerTenth, heldTenthsA: heldLoadTenthsA } : undefined,
  };
}

function claimOfUnlocked(control: ConnectorControl, limits: Limits): Claim {
  return claimOf(control, control.demand.mostTenthsA, isAtRest(control, limits));
}

/** A lock that has no car yet keeps its floor ready. */
function claimOfLocked(control: ConnectorControl): Claim {
  const { demand, holding } = control;
  const lockLimitKw = lockLimitKwOf(control) ?? 0;
  const lockTenthsA = demand.hasCar ? tenthsWithin(wattsOfLimit(lockLimitKw), holding.milliwattsPerTenth) : 0;
  return claimOf(control, Math.min(lockTenthsA, demand.mostTenthsA), false);
}

/**
 * A connector that is about to be locked must have its floor by then, whether its car uses it or not; a car that does not
 * wake up keeps it.
 */
export function isAtRest(control: ConnectorControl, limits: Limits): boolean {
  const { key, demand } = control;
  if (!demand.hasCar || !demand.isResting || isKeptOn(control)) return false;
  return !isLocked(control) && !limits.isLockNear(key);
}

export function isShort({ allocation: { isLastResort, isUnattainable } }: Division): boolean {
  return isLastResort || isUnattainable;
}

/** A connector whose car would use more does not get it. */
export function isScarce({ allocation: { levelW, unlockedW }, unlocked }: Division): boolean {
  if (levelW !== undefined) return true;
  return unlocked.some((control, i) => !control.demand.isResting && (unlockedW[i] ?? 0) < floorWOf(control));
}

/** What it comes to, cars that rest left aside. */
export function servedBy({ allocation, locked, unlocked }: Division): Served {
  let [servedW, paused, leastW] = [0, 0, Number.POSITIVE_INFINITY];
  for (const i of locked.keys()) servedW += allocation.lockedW[i] ?? 0;
  for (const [i, control] of unlocked.entries()) {
    if (control.demand.isResting) continue;
    const shareW = allocation.unlockedW[i] ?? 0;
    const isPaused = shareW < floorWOf(control) || allocation.yields[i] === 'paused';
    if (isPaused) paused++;
    else servedW += shareW;
    leastW = Math.min(leastW, isPaused ? 0 : shareW);
  }
  return { servedW, paused, leastW };
}

/** What it loads its poles with at `tenthsA`, or falls back to where that is more, is taken out of what they can carry. */
export function deductLoad(leftTenthsA: number[], control: ConnectorControl, tenthsA: number): void {
  const loadTenthsA = Math.max(tenthsA, heldLoadTenthsAOf(control));
  for (const pole of control.holding.poles) leftTenthsA[pole] = (leftTenthsA[pole] ?? 0) - loadTenthsA;
}
