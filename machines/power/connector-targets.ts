// What each connector of a location is due, by lock, demand, turn and fair share; whether it can be granted yet is not asked.

import {
  capVoltageV,
  MINIMUM_TENTHS_A,
  milliwattsPerTenthA,
  tenthsAOf,
  tenthsWithin,
  wattsOfLimit,
  wattsOfTenths,
} from '../values/units.js';
import { type Allocation, allocate, type Claim } from './allocation.js';
import { type ConnectorControl, floorWOf, isLocked, lockLimitKwOf } from './connector-control.js';
import { steadyShares } from './steady-shares.js';
import { inTurnOrder, isAboutToResume, isDwelling } from './turns.js';

interface Circumstances {
  /** What connectors that cannot be told leave of the budget, W. */
  readonly availableW: number;
  readonly usesFailsafe: boolean;
  /** After which an acknowledged decrease has freed what it took. */
  readonly settleMs: number;
  readonly nowMs: number;
}

interface Limits {
  readonly isClusterBound: boolean;
  isLockNear(key: string): boolean;
}

/** A charger that tells of itself has done so by then. */
const DESCRIBED_WITHIN_MS = 60_000;

/**
 * Whether all connectors may fall back to their fail-safes at once under the lowest limit there can be; where they may
 * not, everybody is told to fall back to 0. Nominal voltages, so that a reading never turns it.
 */
export function doFailsafesFit(controls: Iterable<ConnectorControl>, lowestW: number): boolean {
  let sumW = 0;
  for (const control of controls) sumW += failsafeWOf(control);
  return sumW <= lowestW;
}

/**
 * Whether those fit that no message can lower, because their chargers keep nothing over a restart. Where not even they
 * do, no reservation can make the limit certain, and reserving them would only keep everybody from charging.
 */
export function doOwnFailsafesFit(
  controls: Iterable<ConnectorControl>,
  lowestW: number,
  nowMs: number,
): boolean {
  let sumW = 0;
  for (const control of controls) if (isKnownToForget(control, nowMs)) sumW += failsafeWOf(control);
  return sumW <= lowestW;
}

/** It said so, or has had time to say otherwise. */
function isKnownToForget({ holding, hb, awaitedSinceMs }: ConnectorControl, nowMs: number): boolean {
  if (holding.isDescribed) return !holding.keepsThen;
  return hb !== undefined && nowMs - awaitedSinceMs >= DESCRIBED_WITHIN_MS;
}

function failsafeWOf({ spec, holding }: ConnectorControl): number {
  const tenthsA = Math.min(tenthsAOf(spec.failsafeA), holding.maxTenthsA);
  return wattsOfTenths(tenthsA, milliwattsPerTenthA(capVoltageV(spec), spec.phases));
}

/** What the connector is told to fall back to: nothing need be kept for one without a car that remembers what it is told. */
export function thenTenthsAOf(control: ConnectorControl, usesFailsafe: boolean): number {
  const { spec, holding, demand, isFailsafeWaived } = control;
  const isNeeded = demand.hasCar || isLocked(control) || !holding.keepsThen;
  const isUsed = usesFailsafe && isNeeded && !isFailsafeWaived;
  return isUsed ? Math.min(tenthsAOf(spec.failsafeA), holding.maxTenthsA) : 0;
}

/** What it takes of the budget even at 0: a charger that keeps nothing over a restart falls back to a fail-safe of its own. */
function heldTenthsAOf(control: ConnectorControl, usesFailsafe: boolean): number {
  const { ownFailsafeTenthsA, maxTenthsA } = control.holding;
  return Math.min(Math.max(thenTenthsAOf(control, usesFailsafe), ownFailsafeTenthsA), maxTenthsA);
}

/** The same in W. */
export function heldWOf(control: ConnectorControl, usesFailsafe: boolean): number {
  return wattsOfTenths(heldTenthsAOf(control, usesFailsafe), control.holding.milliwattsPerTenth);
}

/**
 * Writes target and reason of each connector that can be told. What unlocked connectors would fall back to is theirs
 * even while they are paused: where locks would be lowered for it, or others exceed the budget by it, they are told to
 * fall back to 0 instead.
 */
export function setTargets(
  controlled: readonly ConnectorControl[],
  limits: Limits,
  circumstances: Circumstances,
): void {
  for (const control of controlled) control.isFailsafeWaived = false;
  let division = divide(controlled, limits, circumstances);
  if (isScarce(division)) {
    for (const control of controlled) control.isFailsafeWaived = isAtRest(control, limits);
    division = divide(controlled, limits, circumstances);
  }
  if (isShort(division)) {
    for (const control of controlled) control.isFailsafeWaived = !isLocked(control);
    division = divide(controlled, limits, circumstances);
  }
  const { usesFailsafe, nowMs } = circumstances;
  const { allocation, locked, unlocked } = division;
  for (const [i, control] of locked.entries()) {
    aimLocked(control, allocation.lockedW[i] ?? 0, allocation);
  }
  const sharesTenthsA = isShort(division) ? [] : unlockedTenthsA(division, usesFailsafe);
  for (const [i, control] of unlocked.entries()) {
    if (isPauseKept(control, limits, nowMs)) keepAtRest(control, usesFailsafe);
    else aim(control, sharesTenthsA[i] ?? 0, limits.isClusterBound);
  }
}

/** What is due to each unlocked connector, tenths of an ampere: 0, or its fair share but for less than a step. */
function unlockedTenthsA(
  { allocation, locked, unlocked, availableW }: Division,
  usesFailsafe: boolean,
): readonly number[] {
  let leftW = availableW;
  for (const i of locked.keys()) leftW -= allocation.lockedW[i] ?? 0;
  const fairTenthsA = unlocked.map(({ holding }, i) => {
    const tenthsA = tenthsWithin(allocation.unlockedW[i] ?? 0, holding.milliwattsPerTenth);
    return tenthsA < MINIMUM_TENTHS_A ? 0 : Math.min(tenthsA, holding.maxTenthsA);
  });
  for (const [i, control] of unlocked.entries()) {
    const shareW = wattsOfTenths(fairTenthsA[i] ?? 0, control.holding.milliwattsPerTenth);
    leftW -= Math.max(shareW, heldWOf(control, usesFailsafe));
  }
  const running = [...unlocked.entries()].filter(([i]) => (fairTenthsA[i] ?? 0) > 0);
  const steady = steadyShares(
    running.map(([i, { sentTenthsA = 0, demand, holding }]) => ({
      sentTenthsA,
      fairTenthsA: fairTenthsA[i] ?? 0,
      mostTenthsA: Math.max(fairTenthsA[i] ?? 0, demand.mostTenthsA),
      maxTenthsA: holding.maxTenthsA,
      milliwattsPerTenth: holding.milliwattsPerTenth,
    })),
    leftW,
  );
  for (const [nth, [i]] of running.entries()) fairTenthsA[i] = steady[nth] ?? 0;
  return fairTenthsA;
}

interface Division {
  readonly allocation: Allocation;
  readonly locked: readonly ConnectorControl[];
  /** In the order of their turns; those at rest have their target already. */
  readonly unlocked: readonly ConnectorControl[];
  /** What all of these may use together, W. */
  readonly availableW: number;
}

function isShort({ allocation: { isLastResort, isUnattainable } }: Division): boolean {
  return isLastResort || isUnattainable;
}

/** A connector whose car would use more does not get it. */
function isScarce({ allocation: { levelW, unlockedW }, unlocked }: Division): boolean {
  if (levelW !== undefined) return true;
  return unlocked.some((control, i) => !control.demand.isResting && (unlockedW[i] ?? 0) < floorWOf(control));
}

/** A connector that is about to be locked must have its floor by then, whether its car uses it or not. */
function isAtRest(control: ConnectorControl, limits: Limits): boolean {
  const { key, demand } = control;
  return demand.hasCar && demand.isResting && !isLocked(control) && !limits.isLockNear(key);
}

function divide(
  controlled: readonly ConnectorControl[],
  limits: Limits,
  { availableW, usesFailsafe, settleMs, nowMs }: Circumstances,
): Division {
  const locked: ConnectorControl[] = [];
  const near: ConnectorControl[] = [];
  const rest: ConnectorControl[] = [];
  let leftW = availableW;
  for (const control of controlled) {
    if (isLocked(control)) {
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
      leftW -= keepAtRest(control, usesFailsafe);
    }
  }
  const unlocked = [...near, ...inTurnOrder(rest, nowMs)];
  const allocation = allocate(
    leftW,
    locked.map((control) => claimOfLocked(control, usesFailsafe)),
    unlocked.map((control) => claimOfUnlocked(control, limits, usesFailsafe)),
  );
  return { allocation, locked, unlocked, availableW: leftW };
}

/** Its pause is not over, though it has a share already. */
function isPauseKept(control: ConnectorControl, limits: Limits, nowMs: number): boolean {
  return isDwelling(control, nowMs) && !limits.isLockNear(control.key);
}

/** A connector without a car gets what is reserved for it anyway, one that stays paused for now nothing: W reserved. */
function keepAtRest(control: ConnectorControl, usesFailsafe: boolean): number {
  control.targetTenthsA = control.demand.hasCar ? 0 : thenTenthsAOf(control, usesFailsafe);
  control.reason = control.demand.hasCar ? 'minimumPause' : 'idle';
  return heldWOf(control, usesFailsafe);
}

function claimOf(control: ConnectorControl, wantedTenthsA: number, usesFailsafe: boolean): Claim {
  const { milliwattsPerTenth, maxTenthsA } = control.holding;
  const heldTenthsA = heldTenthsAOf(control, usesFailsafe);
  const floorTenthsA = Math.max(MINIMUM_TENTHS_A, heldTenthsA);
  const mostTenthsA = Math.max(floorTenthsA, Math.min(wantedTenthsA, maxTenthsA));
  return {
    heldW: wattsOfTenths(heldTenthsA, milliwattsPerTenth),
    floorW: wattsOfTenths(floorTenthsA, milliwattsPerTenth),
    mostW: wattsOfTenths(mostTenthsA, milliwattsPerTenth),
  };
}

function claimOfUnlocked(control: ConnectorControl, limits: Limits, usesFailsafe: boolean): Claim {
  const { mostTenthsA } = control.demand;
  return { ...claimOf(control, mostTenthsA, usesFailsafe), isResting: isAtRest(control, limits) };
}

/** A lock that has no car yet keeps its floor ready. */
function claimOfLocked(control: ConnectorControl, usesFailsafe: boolean): Claim {
  const { demand, holding } = control;
  const lockLimitKw = lockLimitKwOf(control) ?? 0;
  const lockTenthsA = demand.hasCar ? tenthsWithin(wattsOfLimit(lockLimitKw), holding.milliwattsPerTenth) : 0;
  return claimOf(control, Math.min(lockTenthsA, demand.mostTenthsA), usesFailsafe);
}

function aim(control: ConnectorControl, tenthsA: number, isClusterBound: boolean): void {
  const { holding, demand } = control;
  control.targetTenthsA = tenthsA;
  if (tenthsA === 0) control.reason = 'paused';
  else if (tenthsA >= holding.maxTenthsA) control.reason = 'maximum';
  else if (tenthsA >= demand.mostTenthsA) control.reason = 'demand';
  else control.reason = isClusterBound ? 'clusterShare' : 'fairShare';
}

function aimLocked(control: ConnectorControl, shareW: number, { isLastResort }: Allocation): void {
  const { holding } = control;
  const tenthsA = Math.max(MINIMUM_TENTHS_A, tenthsWithin(shareW, holding.milliwattsPerTenth));
  control.targetTenthsA = Math.min(tenthsA, holding.maxTenthsA);
  control.reason = isLastResort ? 'lastResort' : 'lock';
}
