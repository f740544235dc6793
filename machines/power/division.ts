// Divides a location's available power among its connectors by current locks, turns and cars.

import type { PhaseCount } from '../ledger/own-phases.js';
import { tenthsAOf, tenthsWithin, wattsOfLimit, wattsOfTenths } from '../values/units.js';
import { type Allocation, allocate } from './allocation.js';
import type { Claim } from './claims.js';
import { type Connector, floorWOf, isLocked, lockLimitKwOf, turnOf } from './connector.js';
import { heldLoadTenthsAOf, heldTenthsAOf, heldWOf } from './failsafes.js';
import type { Served } from './reallocated-phases.js';
import {
  inRotationOrder,
  isAboutToResume,
  isDwelling,
  isKeptOn,
  isWaiting,
  LONGEST_TURN_MS,
  swapsApartMs,
  turnMsOf,
} from './rotation.js';

/** Power to share beside the uncontrolled connectors. */
export interface Available {
  /** Remainder of the budget, W. */
  readonly availableW: number;
  /** Remainder of each circuit phase, tenths of an ampere. */
  readonly availableTenthsA: readonly number[];
  /** Remainder of the grid operator's limit, W; infinite without one. */
  readonly pausingLeavesW: number;
}

export interface Switching {
  /** Grants to the connector use this many of its phases from now on. */
  useOn(connector: Connector, phases: PhaseCount): void;
  /** Available power after the leases of uncontrolled connectors end. */
  readonly lasting: Available;
}

export interface Circumstances extends Available {
  /** Time from an acknowledged decrease until its capacity is free, ms. */
  readonly settleMs: number;
  readonly nowMs: number;
  /** If omitted, every connector keeps its current phases. */
  readonly switching?: Switching | undefined;
}

export interface Limits {
  readonly isClusterBound: boolean;
  isLockNear(key: string): boolean;
  lockAheadKw(key: string): number | undefined;
}

export interface Division {
  readonly allocation: Allocation;
  readonly locked: readonly Connector[];
  /** In the order of their turns, without those at rest. */
  readonly unlocked: readonly Connector[];
  /** Without a car, or within the minimum pause. */
  readonly atRest: readonly Connector[];
  /** Of the unlocked connectors, in the same order. */
  readonly claims: readonly Claim[];
  /** Power for all these connectors together, W. */
  readonly availableW: number;
  /** Capacity of each circuit phase for all these connectors, tenths of an ampere. */
  readonly availableTenthsA: readonly number[];
}

export function divide(
  controlled: readonly Connector[],
  limits: Limits,
  { availableW, availableTenthsA, settleMs, nowMs }: Circumstances,
): Division {
  const locked: Connector[] = [];
  let lastPauseMs = Number.NEGATIVE_INFINITY;
  let isAnyWaiting = false;
  const near: Connector[] = [];
  const rest: Connector[] = [];
  const atRest: Connector[] = [];
  let leftW = availableW;
  const leftTenthsA = [...availableTenthsA];
  for (const connector of controlled) {
    lastPauseMs = Math.max(lastPauseMs, turnOf(connector).pausedSinceMs ?? lastPauseMs);
    isAnyWaiting ||= isWaiting(connector);
    if (connector.decided.isPausedForOperator) {
      leftW -= heldWOf(connector);
      deductLoad(leftTenthsA, connector, 0);
    } else if (isLocked(connector) || isLockAhead(connector, limits)) {
      locked.push(connector);
    } else if (connector.car.demand.hasCar && limits.isLockNear(connector.key)) {
      // A connector whose lock begins soon must have its floor by then, so it comes first among the unlocked.
      near.push(connector);
    } else if (
      connector.car.demand.hasCar &&
      (!isDwelling(connector, nowMs) || isAboutToResume(connector, nowMs, settleMs))
    ) {
      // A connector whose pause ends soon already holds its unused share. Otherwise other cars would have that share
      // when the pause ends.
      rest.push(connector);
    } else {
      atRest.push(connector);
      leftW -= heldWOf(connector);
      deductLoad(leftTenthsA, connector, 0);
    }
  }
  // The length of a turn depends on all connectors only while some car is pending.
  const turnMs = isAnyWaiting ? turnMsOf(controlled) : LONGEST_TURN_MS;
  const swaps = { swapsFromMs: lastPauseMs + swapsApartMs(settleMs), turnMs };
  const inTurn = inRotationOrder(rest, nowMs, swaps);
  const unlocked = near.length === 0 ? inTurn : [...near, ...inTurn];
  // If a fuse cannot carry the floors of all locks, running connectors continue.
  locked.sort((a, b) => Number(isRunning(b)) - Number(isRunning(a)));
  const claims = unlocked.map((connector) => claimOfUnlocked(connector, limits));
  const allocation = allocate(
    leftW,
    locked.map((connector) => claimOfLocked(connector, limits)),
    claims,
    leftTenthsA,
  );
  return { allocation, locked, unlocked, atRest, claims, availableW: leftW, availableTenthsA: leftTenthsA };
}

/** By the limit sent, or by the limit in the charger's reading. */
export function isRunning({ granted, account, telemetry }: Connector): boolean {
  return (granted.sentTenthsA ?? tenthsAOf(telemetry.slot.limitA ?? 0)) >= account.leastTenthsA;
}

/** The connector's minimum pause is not over, although it may have a share. */
export function isPauseKept(connector: Connector, limits: Limits, nowMs: number): boolean {
  return isDwelling(connector, nowMs) && !limits.isLockNear(connector.key);
}

function claimOf(connector: Connector, wantedTenthsA: number, isResting: boolean): Claim {
  const { milliwattsPerTenth, leastTenthsA, maxTenthsA, circuitPhases } = connector.account;
  const heldTenthsA = heldTenthsAOf(connector);
  const hasFuses = circuitPhases.length > 0;
  const heldLoadTenthsA = hasFuses ? heldLoadTenthsAOf(connector) : 0;
  const floorTenthsA = Math.max(leastTenthsA, heldTenthsA, heldLoadTenthsA);
  const mostTenthsA = Math.max(floorTenthsA, Math.min(wantedTenthsA, maxTenthsA));
  return {
    heldW: wattsOfTenths(heldTenthsA, milliwattsPerTenth),
    floorW: wattsOfTenths(floorTenthsA, milliwattsPerTenth),
    mostW: wattsOfTenths(mostTenthsA, milliwattsPerTenth),
    isResting,
    load: hasFuses ? { circuitPhases, milliwattsPerTenth, heldTenthsA: heldLoadTenthsA } : undefined,
  };
}

function claimOfUnlocked(connector: Connector, limits: Limits): Claim {
  return claimOf(connector, connector.car.demand.mostTenthsA, isAtRest(connector, limits));
}

/**
 * Rule R52: others make room for a lock before it begins, if it will raise the connector's limit. The connector itself
 * rises no earlier than its lock.
 */
export function isLockAhead(connector: Connector, limits: Limits): boolean {
  const { key, car, granted } = connector;
  return car.demand.hasCar && lockTenthsAOf(connector, limits.lockAheadKw(key)) > (granted.sentTenthsA ?? 0);
}

/** A locked connector without a car keeps its floor available. */
function claimOfLocked(connector: Connector, limits: Limits): Claim {
  return claimOfLock(
    connector,
    Math.max(lockLimitKwOf(connector) ?? 0, limits.lockAheadKw(connector.key) ?? 0),
  );
}

/** Highest share of a locked connector under its present lock, W. */
export function mostOfLockW(connector: Connector): number {
  return claimOfLock(connector, lockLimitKwOf(connector)).mostW;
}

function claimOfLock(connector: Connector, lockKw: number | undefined): Claim {
  const { demand } = connector.car;
  const lockTenthsA = demand.hasCar ? lockTenthsAOf(connector, lockKw) : 0;
  return claimOf(connector, Math.min(lockTenthsA, demand.mostTenthsA), false);
}

/** The limit of a lock in tenths of an ampere; 0 without one. */
function lockTenthsAOf({ account }: Connector, lockKw: number | undefined): number {
  return lockKw === undefined ? 0 : tenthsWithin(wattsOfLimit(lockKw), account.milliwattsPerTenth);
}

/**
 * The car rests, so that its connector may yield. A connector whose lock begins soon does not count, because it must
 * have its floor by then. A car that would not wake up keeps its floor.
 */
export function isAtRest(connector: Connector, limits: Limits): boolean {
  const { demand } = connector.car;
  if (!demand.hasCar || !demand.isResting || isKeptOn(connector)) return false;
  return !isLocked(connector) && !limits.isLockNear(connector.key);
}

export function isShort({ allocation: { isLastResort, isUnattainable } }: Division): boolean {
  return isLastResort || isUnattainable;
}

/** Some unlocked connector gets less than its car would use. */
export function isScarce({ allocation: { levelW, unlockedW }, unlocked }: Division): boolean {
  if (levelW !== undefined) return true;
  return unlocked.some(
    (connector, i) => !connector.car.demand.isResting && (unlockedW[i] ?? 0) < floorWOf(connector),
  );
}

/** Result of a division, without resting cars. */
export function servedBy({ allocation, locked, unlocked }: Division): Served {
  let [servedW, paused, leastW] = [0, 0, Number.POSITIVE_INFINITY];
  for (const i of locked.keys()) servedW += allocation.lockedW[i] ?? 0;
  for (const [i, connector] of unlocked.entries()) {
    if (connector.car.demand.isResting) continue;
    const shareW = allocation.unlockedW[i] ?? 0;
    const isPaused = shareW < floorWOf(connector) || allocation.yields[i] === 'paused';
    if (isPaused) paused++;
    else servedW += shareW;
    leastW = Math.min(leastW, isPaused ? 0 : shareW);
  }
  return { servedW, paused, leastW };
}

/** Deducts the connector's load at `tenthsA` from its circuit phases; its fail-safe load if that is more. */
export function deductLoad(leftTenthsA: number[], connector: Connector, tenthsA: number): void {
  const { circuitPhases } = connector.account;
  if (circuitPhases.length === 0) return;
  const loadTenthsA = Math.max(tenthsA, heldLoadTenthsAOf(connector));
  for (const circuitPhase of circuitPhases)
    leftTenthsA[circuitPhase] = (leftTenthsA[circuitPhase] ?? 0) - loadTenthsA;
}
