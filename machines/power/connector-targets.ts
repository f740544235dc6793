// Sets the target of each connector by lock, demand, rotation and fair share. The grant issuer decides how much of a
// target it can grant now. Only this module writes `Decided`.

import type { LimitReason } from '../ledger/grant.js';
import { tenthsWithin, wattsOfTenths } from '../values/units.js';
import { NO_LOAD, Room } from './claims.js';
import { type Connector, floorWOf, isLocked, isReadOnly, type Writing } from './connector.js';
import { doubtRest } from './connector-demand.js';
import {
  type Available,
  type Circumstances,
  type Contender,
  type Division,
  deductLoad,
  divide,
  isAtRest,
  isLockAhead,
  isPauseKept,
  isRunning,
  isScarce,
  isShort,
  type Limits,
  mostOfLockW,
  servedBy,
} from './division.js';
import { heldTenthsAOf, heldWOf, waiveFailsafe } from './failsafes.js';
import { canSwitch, choosePhases } from './reallocated-phases.js';
import { isKeptOn } from './rotation.js';
import { type SteadyClaim, steadyShares } from './steady-shares.js';

type Written = Writing<'decided'>;

/**
 * Sets target and reason of each controlled connector. Paused unlocked connectors keep their fail-safes, with one
 * exception. Their fail-safe becomes 0 if it would lower a lock or keep power from other cars.
 */
export function setTargets(
  controlled: readonly Written[],
  limits: Limits,
  circumstances: Circumstances,
): void {
  const floors = new Floors(circumstances);
  let isAnySwitching = false;
  for (const connector of controlled) {
    floors.count(connector);
    isAnySwitching ||= canSwitch(connector);
    waiveFailsafe(connector, false);
    const { decided } = connector;
    decided.isPausedForOperator = false;
    decided.lockAheadTenthsA = 0;
    decided.limitedBy = undefined;
  }
  if (!floors.doFit) for (const { car } of controlled) doubtRest(car.demand);
  const { switching, nowMs } = circumstances;
  if (switching !== undefined && isAnySwitching) {
    const { useOn, lasting } = switching;
    const lastingFloors = new Floors(lasting);
    for (const connector of controlled) lastingFloors.count(connector);
    choosePhases(controlled, {
      doFloorsFit: lastingFloors.doFit,
      isLocked: (connector) => isLocked(connector) || limits.isLockNear(connector.key),
      useOn,
      serve: () => servedBy(divide(controlled, limits, { ...circumstances, ...lasting })),
      serveNow: () => servedBy(divide(controlled, limits, circumstances)),
      nowMs,
    });
  }
  let division = divide(controlled, limits, circumstances);
  if (isScarce(division) && waiveFailsafes(controlled, (connector) => isAtRest(connector, limits)))
    division = divide(controlled, limits, circumstances);
  if (
    isShort(division) &&
    waiveFailsafes(controlled, (connector) => !isLocked(connector) && !isLockAhead(connector, limits))
  )
    division = divide(controlled, limits, circumstances);
  if (division.allocation.isUnattainable && pauseLocked(controlled, circumstances.pausingLeavesW))
    division = divide(controlled, limits, circumstances);
  const { allocation, locked, unlocked, atRest } = division;
  for (const connector of controlled)
    if (connector.decided.isPausedForOperator) aimAt(connector, 0, 'paused');
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
    else aim(contender, sharesTenthsA[i] ?? 0, limits.isClusterBound);
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

/** Room beside the floors of all cars. */
class Floors {
  #leftW: number;
  readonly #leftTenthsA: number[];

  constructor({ availableW, availableTenthsA }: Available) {
    this.#leftW = availableW;
    this.#leftTenthsA = [...availableTenthsA];
  }

  count(connector: Connector): void {
    const { hasCar } = connector.car.demand;
    this.#leftW -= Math.max(heldWOf(connector), hasCar ? floorWOf(connector) : 0);
    deductLoad(this.#leftTenthsA, connector, hasCar ? connector.account.leastTenthsA : 0);
  }

  /** Every car can have its floor at the same time. */
  get doFit(): boolean {
    return this.#leftW >= 0 && this.#leftTenthsA.every((tenthsA) => tenthsA >= 0);
  }
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

/** Remaining capacity beside the locked connectors and the given shares. */
function roomBeside(
  { allocation, locked, unlocked, availableW, availableTenthsA }: Division,
  sharesTenthsA: readonly number[],
): Room {
  const room = new Room(availableW, availableTenthsA);
  for (const [i, contender] of locked.entries()) {
    const shareW = allocation.lockedW[i] ?? 0;
    room.leftW -= shareW;
    room.load(contender, tenthsWithin(shareW, contender.milliwattsPerTenth));
  }
  for (const [i, contender] of unlocked.entries()) {
    const shareTenthsA = sharesTenthsA[i] ?? 0;
    room.leftW -= Math.max(wattsOfTenths(shareTenthsA, contender.milliwattsPerTenth), contender.heldW);
    room.load(contender, shareTenthsA);
  }
  return room;
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
  isClusterBound: boolean,
): void {
  let reason: LimitReason = isClusterBound ? 'clusterShare' : 'fairShare';
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
  aim(contender, keptTenthsA < leastTenthsA ? 0 : keptTenthsA, isClusterBound);
}
