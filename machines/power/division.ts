// Divides a location's available power among its connectors by current locks, turns and cars.

import type { PhaseCount } from '../ledger/own-phases.js';
import { tenthsAOf, tenthsWithin, wattsOfLimit, wattsOfTenths } from '../values/units.js';
import { type Allocation, allocate } from './allocation.js';
import type { Claim } from './claims.js';
import { type Connector, isLocked, lockLimitKwOf, turnOf } from './connector.js';
import { heldLoadTenthsAOf, heldTenthsAOf, heldWOf } from './failsafes.js';
import type { Served } from './reallocated-phases.js';
import {
  type InRotation,
  isAboutToResume,
  isDwelling,
  isKeptOn,
  sortByRotation,
  swapsApartMs,
  TurnLength,
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

/**
 * A connector in a division, with all that the division reads of it. A large site exceeds the processor's caches, so
 * each walk over all connectors costs more than the arithmetic.
 */
export interface Contender extends Claim, InRotation {
  readonly heldTenthsA: number;
  /** The lowest limit above 0. */
  readonly leastTenthsA: number;
  readonly leastW: number;
  /** The greatest current that the car can use. */
  readonly usableTenthsA: number;
  readonly maxTenthsA: number;
  readonly milliwattsPerTenth: number;
  /** Last limit sent; 0 without one. */
  readonly sentTenthsA: number;
}

export interface Division {
  readonly allocation: Allocation;
  readonly locked: readonly Contender[];
  /** In the order of their turns, without those at rest. */
  readonly unlocked: readonly Contender[];
  /** Without a car, or within the minimum pause. */
  readonly atRest: readonly Connector[];
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
  const [locked, near, rest]: [Contender[], Contender[], Contender[]] = [[], [], []];
  const atRest: Connector[] = [];
  // The length of a turn depends on all connectors only while some car is pending.
  const length = new TurnLength();
  let lastPauseMs = Number.NEGATIVE_INFINITY;
  let leftW = availableW;
  const leftTenthsA = [...availableTenthsA];
  for (const connector of controlled) {
    const turn = turnOf(connector);
    const { hasCar, mostTenthsA } = connector.car.demand;
    lastPauseMs = Math.max(lastPauseMs, turn.pausedSinceMs ?? lastPauseMs);
    length.count(connector, turn);
    const isPaused = connector.decided.isPausedForOperator;
    if (!isPaused && (isLocked(connector) || isLockAhead(connector, limits))) {
      // A locked connector without a car keeps its floor available.
      const lockKw = Math.max(lockLimitKwOf(connector) ?? 0, limits.lockAheadKw(connector.key) ?? 0);
      locked.push(contenderOf(connector, wantedByLockTenthsA(connector, lockKw), false));
    } else if (!isPaused && hasCar && limits.isLockNear(connector.key)) {
      // A connector whose lock begins soon must have its floor by then, so it comes first among the unlocked.
      near.push(contenderOf(connector, mostTenthsA, false));
    } else if (!isPaused && hasCar && (!isDwelling(turn, nowMs) || isAboutToResume(turn, nowMs, settleMs))) {
      // A connector whose pause ends soon already holds its unused share. Otherwise other cars would have that share
      // when the pause ends.
      rest.push(contenderOf(connector, mostTenthsA, isAtRest(connector, limits)));
    } else {
      if (!isPaused) atRest.push(connector);
      leftW -= heldWOf(connector);
      deductLoad(leftTenthsA, connector, 0);
    }
  }
  sortByRotation(rest, nowMs, { swapsFromMs: lastPauseMs + swapsApartMs(settleMs), turnMs: length.ms });
  const unlocked = near.length === 0 ? rest : [...near, ...rest];
  // If a fuse cannot carry the floors of all locks, running connectors continue.
  locked.sort((a, b) => Number(isRunning(b.connector)) - Number(isRunning(a.connector)));
  const allocation = allocate(leftW, locked, unlocked, leftTenthsA);
  return { allocation, locked, unlocked, atRest, availableW: leftW, availableTenthsA: leftTenthsA };
}

/** By the limit sent, or by the limit in the charger's reading. */
export function isRunning({ granted, account, telemetry }: Connector): boolean {
  return (granted.sentTenthsA ?? tenthsAOf(telemetry.slot.limitA ?? 0)) >= account.leastTenthsA;
}

/** The connector's minimum pause is not over, although it may have a share. */
export function isPauseKept({ connector, turn }: Contender, limits: Limits, nowMs: number): boolean {
  return isDwelling(turn, nowMs) && !limits.isLockNear(connector.key);
}

/** @param isResting the connector yields, because its car rests */
export function contenderOf(connector: Connector, wantedTenthsA: number, isResting: boolean): Contender {
  const { milliwattsPerTenth, leastTenthsA, maxTenthsA, circuitPhases } = connector.account;
  const { demand } = connector.car;
  const turn = turnOf(connector);
  const heldTenthsA = heldTenthsAOf(connector);
  const hasFuses = circuitPhases.length > 0;
  const heldLoadTenthsA = hasFuses ? heldLoadTenthsAOf(connector) : 0;
  const floorTenthsA = Math.max(leastTenthsA, heldTenthsA, heldLoadTenthsA);
  const mostTenthsA = Math.max(floorTenthsA, Math.min(wantedTenthsA, maxTenthsA));
  return {
    connector,
    turn,
    isKeptOn: isKeptOn(connector),
    isCarResting: demand.isResting,
    sinceMs: turn.onSinceMs ?? turn.pausedSinceMs ?? demand.arrivedAtMs,
    rank: 0,
    heldW: wattsOfTenths(heldTenthsA, milliwattsPerTenth),
    floorW: wattsOfTenths(floorTenthsA, milliwattsPerTenth),
    mostW: wattsOfTenths(mostTenthsA, milliwattsPerTenth),
    isResting,
    load: hasFuses ? { circuitPhases, milliwattsPerTenth, heldTenthsA: heldLoadTenthsA } : undefined,
    heldTenthsA,
    leastTenthsA,
    leastW: wattsOfTenths(leastTenthsA, milliwattsPerTenth),
    usableTenthsA: demand.mostTenthsA,
    maxTenthsA,
    milliwattsPerTenth,
    sentTenthsA: connector.granted.sentTenthsA ?? 0,
  };
}

/**
 * Rule R52: others make room for a lock before it begins, if it will raise the connector's limit. The connector itself
 * rises no earlier than its lock.
 */
export function isLockAhead(connector: Connector, limits: Limits): boolean {
  const { key, car, granted } = connector;
  return car.demand.hasCar && lockTenthsAOf(connector, limits.lockAheadKw(key)) > (granted.sentTenthsA ?? 0);
}

/** Highest share of a locked connector under its present lock, W. */
export function mostOfLockW(connector: Connector): number {
  const wantedTenthsA = wantedByLockTenthsA(connector, lockLimitKwOf(connector));
  return contenderOf(connector, wantedTenthsA, false).mostW;
}

function wantedByLockTenthsA(connector: Connector, lockKw: number | undefined): number {
  const { hasCar, mostTenthsA } = connector.car.demand;
  return hasCar ? Math.min(lockTenthsAOf(connector, lockKw), mostTenthsA) : 0;
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
  return unlocked.some(({ isCarResting, leastW }, i) => !isCarResting && (unlockedW[i] ?? 0) < leastW);
}

/** Result of a division, without resting cars. */
export function servedBy({ allocation, locked, unlocked }: Division): Served {
  let [servedW, paused, leastW] = [0, 0, Number.POSITIVE_INFINITY];
  for (const i of locked.keys()) servedW += allocation.lockedW[i] ?? 0;
  for (const [i, contender] of unlocked.entries()) {
    if (contender.isCarResting) continue;
    const shareW = allocation.unlockedW[i] ?? 0;
    const isPaused = shareW < contender.leastW || allocation.yields[i] === 'paused';
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
