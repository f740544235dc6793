// What each connector of a location is due, by lock, demand, turn and fair share; whether it can be granted yet is not asked.

import { tenthsAOf, tenthsWithin, wattsOfLimit, wattsOfTenths } from '../values/units.js';
import { type Allocation, allocate } from './allocation.js';
import type { Claim } from './claims.js';
import { type ConnectorControl, floorWOf, isLocked, lockLimitKwOf } from './connector-control.js';
import { doubtRest } from './connector-demand.js';
import { failsafeTenthsAOf, heldLoadTenthsAOf, heldTenthsAOf, heldWOf, thenTenthsAOf } from './failsafes.js';
import { steadyShares } from './steady-shares.js';
import {
  inTurnOrder,
  isAboutToResume,
  isDwelling,
  isKeptOn,
  lastPauseAtMs,
  swapsApartMs,
  turnMsOf,
} from './turns.js';

interface Circumstances {
  /** What connectors that cannot be told leave of the budget, W. */
  readonly availableW: number;
  /** What they leave of each pole. */
  readonly availableTenthsA: readonly number[];
  /** What they leave of the grid operator's limit, W; infinite where there is none. */
  readonly operatorLeavesW: number;
  /** After which an acknowledged decrease has freed what it took. */
  readonly settleMs: number;
  readonly nowMs: number;
}

interface Limits {
  readonly isClusterBound: boolean;
  isLockNear(key: string): boolean;
}

/**
 * Writes target and reason of each connector that can be told. What unlocked connectors would fall back to is theirs
 * even while they are paused: where locks would be lowered for it, or others exceed the budget by it, those that are paused
 * are told to fall back to 0 instead.
 */
export function setTargets(
  controlled: readonly ConnectorControl[],
  limits: Limits,
  circumstances: Circumstances,
): void {
  if (!doFloorsFit(controlled, circumstances)) for (const { demand } of controlled) doubtRest(demand);
  for (const control of controlled) {
    control.isFailsafeWaived = false;
    control.isPausedForOperator = false;
    control.limitedBy = undefined;
  }
  let division = divide(controlled, limits, circumstances);
  if (isScarce(division) && waiveFailsafes(controlled, (control) => isAtRest(control, limits)))
    division = divide(controlled, limits, circumstances);
  if (isShort(division) && waiveFailsafes(controlled, (control) => !isLocked(control)))
    division = divide(controlled, limits, circumstances);
  if (division.allocation.isUnattainable && pauseLocked(controlled, circumstances.operatorLeavesW))
    division = divide(controlled, limits, circumstances);
  const { nowMs } = circumstances;
  const { allocation, locked, unlocked } = division;
  for (const [i, control] of locked.entries()) {
    aimLocked(control, allocation.lockedW[i] ?? 0, allocation.lastResort[i] === true);
    control.limitedBy = allocation.lockedBindings[i];
  }
  const sharesTenthsA = unlockedTenthsA(division);
  for (const [i, control] of unlocked.entries()) {
    if (isPauseKept(control, limits, nowMs)) keepAtRest(control);
    else aim(control, sharesTenthsA[i] ?? 0, limits.isClusterBound);
    // What it falls back to takes nothing from others while it may draw as much anyway.
    if (control.targetTenthsA >= failsafeTenthsAOf(control)) control.isFailsafeWaived = false;
    control.limitedBy = allocation.bindings[i];
  }
}

/** Waives the fail-safes of those that `isWaived` names, and of nobody else; true where it is another's than before. */
function waiveFailsafes(
  controlled: readonly ConnectorControl[],
  isWaived: (control: ConnectorControl) => boolean,
): boolean {
  let isOther = false;
  for (const control of controlled) {
    const isOwn = isWaived(control);
    isOther ||= control.isFailsafeWaived !== isOwn;
    control.isFailsafeWaived = isOwn;
  }
  return isOther;
}

/**
 * Pauses as many locked connectors as the grid operator's limit does not hold the floors of, where that is allowed; true
 * where it pauses any. Those without a car first, then those that do not run; those that would not wake up last.
 */
function pauseLocked(controlled: readonly ConnectorControl[], operatorLeavesW: number): boolean {
  let neededW = 0;
  for (const control of controlled)
    neededW += isLocked(control) ? Math.max(floorWOf(control), heldWOf(control)) : heldWOf(control);
  const pausable = controlled.filter(
    (control) => isLocked(control) && control.spec.operatorMayPause === true,
  );
  const order = (control: ConnectorControl) =>
    Number(isKeptOn(control)) + 2 * Number(isRunning(control)) + 4 * Number(control.demand.hasCar);
  pausable.sort((a, b) => order(a) - order(b) || (a.key < b.key ? 1 : -1));
  let isAnyPaused = false;
  for (const control of pausable) {
    if (neededW <= operatorLeavesW) break;
    neededW -= Math.max(floorWOf(control), heldWOf(control));
    control.isPausedForOperator = true;
    control.isFailsafeWaived = true;
    neededW += heldWOf(control);
    isAnyPaused = true;
  }
  return isAnyPaused;
}

/** Whether every car could be at its floor at once. */
function doFloorsFit(
  controlled: readonly ConnectorControl[],
  { availableW, availableTenthsA }: Circumstances,
): boolean {
  let leftW = availableW;
  const leftTenthsA = [...availableTenthsA];
  for (const control of controlled) {
    leftW -= Math.max(heldWOf(control), control.demand.hasCar ? floorWOf(control) : 0);
    deductLoad(leftTenthsA, control, control.demand.hasCar ? control.holding.leastTenthsA : 0);
  }
  return leftW >= 0 && leftTenthsA.every((tenthsA) => tenthsA >= 0);
}

/** What is due to each unlocked connector, tenths of an ampere: 0, or its fair share but for less than a step. */
function unlockedTenthsA(division: Division): readonly number[] {
  const { allocation, unlocked } = division;
  const fairTenthsA = unlocked.map(({ holding }, i) => {
    const tenthsA = tenthsWithin(allocation.unlockedW[i] ?? 0, holding.milliwattsPerTenth);
    const isPaused = tenthsA < holding.leastTenthsA || allocation.yielding[i] === true;
    return isPaused ? 0 : Math.min(tenthsA, holding.maxTenthsA);
  });
  const room = roomBeside(division, fairTenthsA);
  const running = [...unlocked.entries()].filter(([i]) => (fairTenthsA[i] ?? 0) > 0);
  const steady = steadyShares(
    running.map(([i, { sentTenthsA = 0, demand, holding }]) => ({
      sentTenthsA,
      fairTenthsA: fairTenthsA[i] ?? 0,
      mostTenthsA: Math.max(fairTenthsA[i] ?? 0, demand.mostTenthsA),
      maxTenthsA: holding.maxTenthsA,
      milliwattsPerTenth: holding.milliwattsPerTenth,
      poles: holding.poles,
    })),
    room.leftW,
    room.leftTenthsA,
  );
  for (const [nth, [i]] of running.entries()) fairTenthsA[i] = steady[nth] ?? 0;
  return fairTenthsA;
}

/** What locked connectors, and the shares of the others, leave. */
function roomBeside(
  { allocation, locked, unlocked, availableW, availableTenthsA }: Division,
  sharesTenthsA: readonly number[],
): { readonly leftW: number; readonly leftTenthsA: readonly number[] } {
  let leftW = availableW;
  const leftTenthsA = [...availableTenthsA];
  for (const [i, control] of locked.entries()) {
    const shareW = allocation.lockedW[i] ?? 0;
    leftW -= shareW;
    deductLoad(leftTenthsA, control, tenthsWithin(shareW, control.holding.milliwattsPerTenth));
  }
  for (const [i, control] of unlocked.entries()) {
    const shareTenthsA = sharesTenthsA[i] ?? 0;
    const shareW = wattsOfTenths(shareTenthsA, control.holding.milliwattsPerTenth);
    leftW -= Math.max(shareW, heldWOf(control));
    deductLoad(leftTenthsA, control, shareTenthsA);
  }
  return { leftW, leftTenthsA };
}

/** What it loads its poles with at `tenthsA`, or falls back to where that is more, is taken out of what they can carry. */
function deductLoad(leftTenthsA: number[], control: ConnectorControl, tenthsA: number): void {
  const loadTenthsA = Math.max(tenthsA, heldLoadTenthsAOf(control));
  for (const pole of control.holding.poles) leftTenthsA[pole] = (leftTenthsA[pole] ?? 0) - loadTenthsA;
}

interface Division {
  readonly allocation: Allocation;
  readonly locked: readonly ConnectorControl[];
  /** In the order of their turns; those at rest have their target already. */
  readonly unlocked: readonly ConnectorControl[];
  /** What all of these may use together, W. */
  readonly availableW: number;
  /** The same of each pole, tenths of an ampere. */
  readonly availableTenthsA: readonly number[];
}

function isShort({ allocation: { isLastResort, isUnattainable } }: Division): boolean {
  return isLastResort || isUnattainable;
}

/** A connector whose car would use more does not get it. */
function isScarce({ allocation: { levelW, unlockedW }, unlocked }: Division): boolean {
  if (levelW !== undefined) return true;
  return unlocked.some((control, i) => !control.demand.isResting && (unlockedW[i] ?? 0) < floorWOf(control));
}

/**
 * A connector that is about to be locked must have its floor by then, whether its car uses it or not; a car that does not
 * wake up keeps it.
 */
function isAtRest(control: ConnectorControl, limits: Limits): boolean {
  const { key, demand } = control;
  if (!demand.hasCar || !demand.isResting || isKeptOn(control)) return false;
  return !isLocked(control) && !limits.isLockNear(key);
}

function divide(
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
function isRunning({ sentTenthsA, holding, slot: { limitA = 0 } }: ConnectorControl): boolean {
  return (sentTenthsA ?? tenthsAOf(limitA)) >= holding.leastTenthsA;
}

/** Its pause is not over, though it has a share already. */
function isPauseKept(control: ConnectorControl, limits: Limits, nowMs: number): boolean {
  return isDwelling(control, nowMs) && !limits.isLockNear(control.key);
}

/** A connector without a car gets what is reserved for it anyway, one that stays paused for now nothing: W reserved. */
function keepAtRest(control: ConnectorControl): number {
  control.targetTenthsA = control.demand.hasCar ? 0 : thenTenthsAOf(control);
  control.reason = control.demand.hasCar ? 'minimumPause' : 'idle';
  return heldWOf(control);
}

function claimOf(control: ConnectorControl, wantedTenthsA: number): Claim {
  const { milliwattsPerTenth, leastTenthsA, maxTenthsA, poles } = control.holding;
  const heldTenthsA = heldTenthsAOf(control);
  const heldLoadTenthsA = poles.length === 0 ? 0 : heldLoadTenthsAOf(control);
  const floorTenthsA = Math.max(leastTenthsA, heldTenthsA, heldLoadTenthsA);
  const mostTenthsA = Math.max(floorTenthsA, Math.min(wantedTenthsA, maxTenthsA));
  return {
    heldW: wattsOfTenths(heldTenthsA, milliwattsPerTenth),
    floorW: wattsOfTenths(floorTenthsA, milliwattsPerTenth),
    mostW: wattsOfTenths(mostTenthsA, milliwattsPerTenth),
    ...(poles.length > 0 && { load: { poles, milliwattsPerTenth, heldTenthsA: heldLoadTenthsA } }),
  };
}

function claimOfUnlocked(control: ConnectorControl, limits: Limits): Claim {
  return { ...claimOf(control, control.demand.mostTenthsA), isResting: isAtRest(control, limits) };
}

/** A lock that has no car yet keeps its floor ready. */
function claimOfLocked(control: ConnectorControl): Claim {
  const { demand, holding } = control;
  const lockLimitKw = lockLimitKwOf(control) ?? 0;
  const lockTenthsA = demand.hasCar ? tenthsWithin(wattsOfLimit(lockLimitKw), holding.milliwattsPerTenth) : 0;
  return claimOf(control, Math.min(lockTenthsA, demand.mostTenthsA));
}

function aim(control: ConnectorControl, tenthsA: number, isClusterBound: boolean): void {
  const { holding, demand } = control;
  control.targetTenthsA = tenthsA;
  if (tenthsA === 0) control.reason = 'paused';
  else if (tenthsA >= holding.maxTenthsA) control.reason = 'maximum';
  else if (tenthsA >= demand.mostTenthsA) control.reason = 'demand';
  else control.reason = isClusterBound ? 'clusterShare' : 'fairShare';
}

function aimLocked(control: ConnectorControl, shareW: number, isLastResort: boolean): void {
  const { holding } = control;
  const tenthsA = Math.min(tenthsWithin(shareW, holding.milliwattsPerTenth), holding.maxTenthsA);
  // Power is owed to a lock's floor whatever the limit; a fuse that does not carry it is not overloaded for it.
  control.targetTenthsA = tenthsA < holding.leastTenthsA ? 0 : tenthsA;
  control.reason = isLastResort ? 'lastResort' : 'lock';
}
