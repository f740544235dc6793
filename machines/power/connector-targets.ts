// Divides a location's available power among its connectors, and sets the target of each by lock, demand, rotation and
// fair share. The grant issuer decides how much of a target it can grant now. Only this module writes `Decided`.

import type { LimitReason } from '../ledger/grant.js';
import type { PhaseCount } from '../ledger/own-phases.js';
import type { DeclaredCar } from '../policy/policies.js';
import { tenthsAOf, tenthsWithin, wattsOfLimit, wattsOfTenths } from '../values/units.js';
import { type Allocation, allocate } from './allocation.js';
import type { Budget } from './budget.js';
import { NO_LOAD, Room } from './claims.js';
import {
  type Connector,
  floorWOf,
  isLocked,
  isReadOnly,
  lockLimitKwOf,
  turnOf,
  type Writing,
} from './connector.js';
import { doubtRest } from './connector-demand.js';
import { declaredCarOf } from './declared-cars.js';
import { heldLoadTenthsAOf, heldTenthsAOf, heldWOf, waiveFailsafe } from './failsafes.js';
import { canSwitch, choosePhases, type Served } from './reallocated-phases.js';
import {
  type InRotation,
  isAboutToResume,
  isDwelling,
  isKeptOn,
  sortByRotation,
  swapsApartMs,
  TurnLength,
} from './rotation.js';
import { type LimitClaim, roomBeside, shareInOrder } from './service-order.js';
import { type SteadyClaim, steadyShares } from './steady-shares.js';

type Written = Writing<'decided'>;

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

interface Circumstances extends Available {
  /** Time from an acknowledged decrease until its capacity is free, ms. */
  readonly settleMs: number;
  readonly nowMs: number;
  /** If omitted, every connector keeps its current phases. */
  readonly switching?: Switching | undefined;
}

type Limits = Pick<Budget, 'isClusterBound' | 'budgetW' | 'service' | 'isLockNear' | 'lockAheadKw'>;

/**
 * A connector in a division, with all that the division reads of it. A large site exceeds the processor's caches, so
 * each walk over all connectors costs more than the arithmetic.
 */
interface Contender extends LimitClaim, InRotation {
  readonly leastW: number;
  /** The greatest current that the car can use. */
  readonly usableTenthsA: number;
  readonly maxTenthsA: number;
  /** Last limit sent; 0 without one. */
  readonly sentTenthsA: number;
}

interface Division {
  readonly allocation: Allocation;
  readonly locked: readonly Contender[];
  /** In the order of their turns, without those at rest. */
  readonly unlocked: readonly Contender[];
  /** Without a car, or within the minimum pause. */
  readonly atRest: readonly Connector[];
  /** Capacity for all these contenders together. */
  readonly room: Readonly<Room>;
  /** Places of the unlocked contenders that the policy serves in its order. */
  readonly inService: ReadonlySet<number>;
}

function divide(
  controlled: readonly Connector[],
  limits: Limits,
  { availableW, availableTenthsA, settleMs, nowMs }: Circumstances,
): Division {
  const [locked, near, rest]: [Contender[], Contender[], Contender[]] = [[], [], []];
  const atRest: Connector[] = [];
  // The length of a turn depends on all connectors only while some car is pending.
  const length = new TurnLength();
  let lastPauseMs = Number.NEGATIVE_INFINITY;
  const room = new Room(availableW, availableTenthsA);
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
      deduct(room, connector, false);
    }
  }
  const swapsFromMs = lastPauseMs + swapsApartMs(settleMs);
  const inOrder = length.isAnyWaiting ? declaredIn(rest, limits) : new Set<Contender>();
  sortByRotation(rest, nowMs, { swapsFromMs, turnMs: length.ms, inOrder });
  const unlocked = near.length === 0 ? rest : [...near, ...rest];
  // If a fuse cannot carry the floors of all locks, running connectors continue.
  locked.sort((a, b) => Number(isRunning(b.connector)) - Number(isRunning(a.connector)));
  const allocation = allocate(room.leftW, locked, unlocked, room.leftTenthsA);
  const division = { allocation, locked, unlocked, atRest, room, inService: NOBODY };
  return limits.service === undefined ? division : serveInOrder(division, limits, limits.service);
}

/** Contenders whose cars a policy serves in its order if power is short. */
function declaredIn(contenders: readonly Contender[], { service }: Limits): ReadonlySet<Contender> {
  if (service === undefined) return new Set();
  return new Set(
    contenders.filter(
      ({ connector, mostW, isCarResting }) =>
        !isCarResting && declaredCarOf(connector, mostW, service.now) !== undefined,
    ),
  );
}

const NOBODY: ReadonlySet<number> = new Set();

/**
 * Rule R53: cars with a declared departure share in the order of the policy all that an equal division gives them or
 * leaves over. All other connectors keep their equal shares.
 */
function serveInOrder(
  division: Division,
  limits: Limits,
  { policy, now, limitsAhead }: NonNullable<Limits['service']>,
): Division {
  const { allocation, unlocked } = division;
  if (!isScarce(division)) return division;
  const declared = new Map<number, DeclaredCar>();
  for (const [place, { connector, mostW, isCarResting }] of unlocked.entries()) {
    const isShared = allocation.yields[place] === 'nothing' && !isCarResting;
    const isOrdered = isShared && !limits.isLockNear(connector.key);
    const car = isOrdered ? declaredCarOf(connector, mostW, now) : undefined;
    if (car !== undefined) declared.set(place, car);
  }
  if (declared.size === 0) return division;
  const served = shareInOrder(division, declared, {
    policy,
    now,
    limitW: limits.budgetW,
    limitsAhead: limitsAhead(),
  });
  return { ...division, inService: new Set(declared.keys()), allocation: { ...allocation, ...served } };
}

/** By the limit sent, or by the limit in the charger's reading. */
function isRunning({ granted, account, telemetry }: Connector): boolean {
  return (granted.sentTenthsA ?? tenthsAOf(telemetry.slot.limitA ?? 0)) >= account.leastTenthsA;
}

/** The connector's minimum pause is not over, although it may have a share. */
function isPauseKept({ connector, turn }: Contender, limits: Limits, nowMs: number): boolean {
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
function isLockAhead(connector: Connector, limits: Limits): boolean {
  const { key, car, granted } = connector;
  return car.demand.hasCar && lockTenthsAOf(connector, limits.lockAheadKw(key)) > (granted.sentTenthsA ?? 0);
}

/** Highest share of a locked connector under its present lock, W. */
function mostOfLockW(connector: Connector): number {
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
function isAtRest(connector: Connector, limits: Limits): boolean {
  const { demand } = connector.car;
  if (!demand.hasCar || !demand.isResting || isKeptOn(connector)) return false;
  return !isLocked(connector) && !limits.isLockNear(connector.key);
}

/** Some unlocked connector gets less than its car would use. */
function isScarce({ allocation: { levelW, unlockedW }, unlocked }: Division): boolean {
  if (levelW !== undefined) return true;
  return unlocked.some(({ isCarResting, leastW }, i) => !isCarResting && (unlockedW[i] ?? 0) < leastW);
}

const NO_CONNECTORS: ReadonlySet<Connector> = new Set();

/**
 * Connectors whose fail-safe yields to the order of a policy: all that it serves, while one of them has less than its
 * minimum. Otherwise the fail-safes of the cars that came first would decide instead of the order (R53).
 */
function overtakenIn({ allocation, unlocked, inService }: Division): ReadonlySet<Connector> {
  const served = [...inService].flatMap((place) => unlocked[place] ?? []);
  const isAnyPaused = [...inService].some(
    (place) => (allocation.unlockedW[place] ?? 0) < (unlocked[place]?.leastW ?? 0),
  );
  return isAnyPaused ? new Set(served.map(({ connector }) => connector)) : NO_CONNECTORS;
}

/** Result of a division, without resting cars. */
function servedBy({ allocation, locked, unlocked }: Division): Served {
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

/** Deducts the connector's reservation at limit 0, or the floor of its car if that is more. */
function deduct(room: Room, connector: Connector, isWithFloor: boolean): void {
  const { leastTenthsA, circuitPhases } = connector.account;
  room.leftW -= Math.max(heldWOf(connector), isWithFloor ? floorWOf(connector) : 0);
  if (circuitPhases.length > 0)
    room.load(circuitPhases, Math.max(isWithFloor ? leastTenthsA : 0, heldLoadTenthsAOf(connector)));
}

/** Every car can have its floor at the same time. */
function doFloorsFit(controlled: readonly Connector[], { availableW, availableTenthsA }: Available): boolean {
  const room = new Room(availableW, availableTenthsA);
  for (const connector of controlled) deduct(room, connector, connector.car.demand.hasCar);
  return room.overdrawn().size === 0;
}

/**
 * Sets target and reason of each controlled connector. Paused unlocked connectors keep their fail-safes, with one
 * exception. Their fail-safe becomes 0 if it would lower a lock or keep power from other cars.
 */
export function setTargets(
  controlled: readonly Written[],
  limits: Limits,
  circumstances: Circumstances,
): void {
  const floors = new Room(circumstances.availableW, circumstances.availableTenthsA);
  let isAnySwitching = false;
  for (const connector of controlled) {
    deduct(floors, connector, connector.car.demand.hasCar);
    isAnySwitching ||= canSwitch(connector);
    waiveFailsafe(connector, false);
    const { decided } = connector;
    decided.isPausedForOperator = false;
    decided.lockAheadTenthsA = 0;
  }
  if (floors.overdrawn().size > 0) for (const { car } of controlled) doubtRest(car.demand);
  const { switching, nowMs } = circumstances;
  if (switching !== undefined && isAnySwitching) {
    const { useOn, lasting } = switching;
    choosePhases(controlled, {
      doFloorsFit: doFloorsFit(controlled, lasting),
      isLocked: (connector) => isLocked(connector) || limits.isLockNear(connector.key),
      useOn,
      serve: () => servedBy(divide(controlled, limits, { ...circumstances, ...lasting })),
      serveNow: () => servedBy(divide(controlled, limits, circumstances)),
      nowMs,
    });
  }
  let division = divide(controlled, limits, circumstances);
  const overtaken = overtakenIn(division);
  const yieldsFailsafe = (connector: Connector) => isAtRest(connector, limits) || overtaken.has(connector);
  if (isScarce(division) && waiveFailsafes(controlled, yieldsFailsafe))
    division = divide(controlled, limits, circumstances);
  const { isLastResort, isUnattainable } = division.allocation;
  const isUnlocked = (connector: Connector) => !isLocked(connector) && !isLockAhead(connector, limits);
  if ((isLastResort || isUnattainable) && waiveFailsafes(controlled, isUnlocked))
    division = divide(controlled, limits, circumstances);
  if (division.allocation.isUnattainable && pauseLocked(controlled, circumstances.pausingLeavesW))
    division = divide(controlled, limits, circumstances);
  const { allocation, locked, unlocked, atRest, inService } = division;
  // The rotation of this division has read the full phases of the last one (R27).
  for (const connector of controlled) {
    const { decided }: Written = connector;
    decided.limitedBy = undefined;
    if (decided.isPausedForOperator) aimAt(connector, 0, 'paused');
  }
  for (const connector of atRest) keepAtRest(connector);
  for (const [i, contender] of locked.entries()) {
    const { connector, milliwattsPerTenth } = contender;
    const { decided }: Written = connector;
    const shareW = allocation.lockedW[i] ?? 0;
    const isLastResort = allocation.lastResort[i] === true;
    if (isLockAhead(connector, limits)) decided.lockAheadTenthsA = tenthsWithin(shareW, milliwattsPerTenth);
    if (isLocked(connector)) aimLocked(connector, Math.min(shareW, mostOfLockW(connector)), isLastResort);
    else aimAheadOfLock(contender, shareW, limits.isClusterBound);
    decided.limitedBy = allocation.lockedBindings[i];
  }
  const sharesTenthsA = unlockedTenthsA(division);
  for (const [i, contender] of unlocked.entries()) {
    const { connector } = contender;
    const { decided, failsafe }: Written = connector;
    if (isPauseKept(contender, limits, nowMs)) keepAtRest(connector);
    else if (allocation.yields[i] === 'floor') aimAtReserved(connector, sharesTenthsA[i] ?? 0);
    else {
      const short = limits.isClusterBound ? 'clusterShare' : 'fairShare';
      aim(contender, sharesTenthsA[i] ?? 0, inService.has(i) ? 'departure' : short);
    }
    // A connector's fail-safe takes nothing from others while its target is at least as high.
    if (decided.targetTenthsA >= failsafe.provisionedTenthsA) waiveFailsafe(connector, false);
    decided.limitedBy = allocation.bindings[i];
  }
}

/** Waives exactly the fail-safes that `isWaived` selects; true if any connector changes. */
function waiveFailsafes(
  controlled: readonly Connector[],
  isWaived: (connector: Connector) => boolean,
): boolean {
  let isAnyChanged = false;
  for (const connector of controlled) {
    const isWaivedNow = isWaived(connector);
    isAnyChanged ||= connector.failsafe.isWaived !== isWaivedNow;
    waiveFailsafe(connector, isWaivedNow);
  }
  return isAnyChanged;
}

/**
 * Pauses locked connectors if their floors exceed the operator's limit and they may be paused; true if any is paused.
 * Connectors without a car go first, then idle ones. Connectors with `neverPause` go last.
 */
function pauseLocked(controlled: readonly Written[], pausingLeavesW: number): boolean {
  let neededW = 0;
  for (const connector of controlled)
    neededW += isLocked(connector) ? Math.max(floorWOf(connector), heldWOf(connector)) : heldWOf(connector);
  const pausable = controlled.filter(
    (connector) => isLocked(connector) && connector.provisioned.spec.operatorMayPause === true,
  );
  const order = (connector: Connector) =>
    Number(isKeptOn(connector)) + 2 * Number(isRunning(connector)) + 4 * Number(connector.car.demand.hasCar);
  pausable.sort((a, b) => order(a) - order(b) || (a.key < b.key ? 1 : -1));
  let isAnyPaused = false;
  for (const connector of pausable) {
    if (neededW <= pausingLeavesW) break;
    const runningW = Math.max(floorWOf(connector), heldWOf(connector));
    const wasWaived = connector.failsafe.isWaived;
    waiveFailsafe(connector, true);
    const freedW = runningW - heldWOf(connector);
    // A pause that frees nothing helps no other connector.
    if (freedW === 0) waiveFailsafe(connector, wasWaived);
    else {
      neededW -= freedW;
      connector.decided.isPausedForOperator = true;
      isAnyPaused = true;
    }
  }
  return isAnyPaused;
}

/** Target of each unlocked connector, tenths of an ampere: 0, or within a step of its fair share. */
function unlockedTenthsA(division: Division): readonly number[] {
  const { allocation, unlocked } = division;
  const fairTenthsA: number[] = [];
  const running: number[] = [];
  const claims: SteadyClaim[] = [];
  for (const [i, contender] of unlocked.entries()) {
    const { sentTenthsA, usableTenthsA, leastTenthsA, maxTenthsA, milliwattsPerTenth, load } = contender;
    const tenthsA = tenthsWithin(allocation.unlockedW[i] ?? 0, milliwattsPerTenth);
    const isPaused = tenthsA < leastTenthsA || allocation.yields[i] === 'paused';
    const eachTenthsA = isPaused ? 0 : Math.min(tenthsA, maxTenthsA);
    fairTenthsA.push(eachTenthsA);
    if (eachTenthsA === 0 || allocation.yields[i] !== 'nothing') continue;
    running.push(i);
    claims.push({
      sentTenthsA,
      fairTenthsA: Math.floor(eachTenthsA),
      mostTenthsA: Math.max(eachTenthsA, usableTenthsA),
      maxTenthsA,
      milliwattsPerTenth,
      circuitPhases: load?.circuitPhases ?? NO_LOAD.circuitPhases,
    });
  }
  const room = roomBeside(division, fairTenthsA);
  const steady = steadyShares(claims, room.leftW, room.leftTenthsA);
  // The values are whole but computed as fractions. As small integers they need no heap memory.
  for (const [nth, i] of running.entries()) fairTenthsA[i] = Math.floor(steady[nth] ?? 0);
  return fairTenthsA;
}

/** Sets a target and the reason of the limit. */
export function aimAt({ decided }: Written, tenthsA: number, reason: LimitReason): void {
  decided.targetTenthsA = tenthsA;
  decided.reason = reason;
}

/** Aims an uncontrolled connector at its bound. */
export function leaveAtBound(connector: Written): void {
  const { account, car, decided } = connector;
  const reason = isReadOnly(connector) ? 'readOnly' : 'failsafe';
  aimAt(connector, account.boundTenthsA, car.compliance.isNonCompliant ? 'nonCompliant' : reason);
  decided.limitedBy = undefined;
}

/** Aims an idle connector at its reservation, and a paused one at 0. */
function keepAtRest(connector: Connector): void {
  const { hasCar } = connector.car.demand;
  const heldTenthsA = heldTenthsAOf(connector);
  const isUsable = !hasCar && heldTenthsA >= connector.account.leastTenthsA;
  aimAt(connector, isUsable ? heldTenthsA : 0, hasCar ? 'minimumPause' : 'idle');
}

function aim(
  { connector, maxTenthsA, usableTenthsA }: Contender,
  tenthsA: number,
  short: 'clusterShare' | 'fairShare' | 'departure',
): void {
  let reason: LimitReason = short;
  if (tenthsA === 0) reason = 'paused';
  else if (tenthsA >= maxTenthsA) reason = 'maximum';
  else if (tenthsA >= usableTenthsA) reason = 'demand';
  aimAt(connector, Math.floor(tenthsA), reason);
}

/** Locked connectors need all other power. The connector gets only the reservation that its fail-safe requires. */
function aimAtReserved(connector: Connector, tenthsA: number): void {
  aimAt(connector, Math.floor(tenthsA), tenthsA === 0 ? 'paused' : 'reserved');
}

function aimLocked(connector: Connector, shareW: number, isLastResort: boolean): void {
  const { account } = connector;
  const tenthsA = Math.min(tenthsWithin(shareW, account.milliwattsPerTenth), account.maxTenthsA);
  // A lock's floor is due at any limit. A fuse that cannot carry that floor is not overloaded for it.
  aimAt(connector, tenthsA < account.leastTenthsA ? 0 : tenthsA, isLastResort ? 'lastResort' : 'lock');
}

/** Until its lock begins, a connector keeps its limit, and at least its floor and its reserve (rule R52). */
function aimAheadOfLock(contender: Contender, shareW: number, isClusterBound: boolean): void {
  const { sentTenthsA, leastTenthsA, heldTenthsA, maxTenthsA, milliwattsPerTenth } = contender;
  const tenthsA = Math.min(tenthsWithin(shareW, milliwattsPerTenth), maxTenthsA);
  const keptTenthsA = Math.min(tenthsA, Math.max(sentTenthsA, leastTenthsA, heldTenthsA));
  aim(contender, keptTenthsA < leastTenthsA ? 0 : keptTenthsA, isClusterBound ? 'clusterShare' : 'fairShare');
}
