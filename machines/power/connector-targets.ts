// Sets the target of each connector by lock, demand, rotation and fair share. The grant issuer decides how much of a
// target it can grant now. Sole writer of `Decided`.

import { tenthsWithin, wattsOfTenths } from '../values/units.js';
import { type ConnectorControl, floorWOf, isLocked, isReadOnly, type Writing } from './connector-control.js';
import { doubtRest } from './connector-demand.js';
import {
  type Available,
  type Circumstances,
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
import { failsafeTenthsAOf, heldTenthsAOf, heldWOf, waiveFailsafe } from './failsafes.js';
import type { LimitReason } from './grant.js';
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
  const areAllServed = doFloorsFit(controlled, circumstances);
  let isAnySwitching = false;
  for (const control of controlled) {
    if (!areAllServed) doubtRest(control.car.demand);
    isAnySwitching ||= canSwitch(control);
    waiveFailsafe(control, false);
    const { decided } = control;
    decided.isPausedForOperator = false;
    decided.lockAheadTenthsA = 0;
    decided.limitedBy = undefined;
  }
  const { switching, nowMs } = circumstances;
  if (switching !== undefined && isAnySwitching) {
    const { useOn, lasting } = switching;
    choosePhases(controlled, {
      doFloorsFit: doFloorsFit(controlled, lasting),
      isLocked: (control) => isLocked(control) || limits.isLockNear(control.key),
      useOn,
      serve: () => servedBy(divide(controlled, limits, { ...circumstances, ...lasting })),
      serveNow: () => servedBy(divide(controlled, limits, circumstances)),
      nowMs,
    });
  }
  let division = divide(controlled, limits, circumstances);
  if (isScarce(division) && waiveFailsafes(controlled, (control) => isAtRest(control, limits)))
    division = divide(controlled, limits, circumstances);
  if (
    isShort(division) &&
    waiveFailsafes(controlled, (control) => !isLocked(control) && !isLockAhead(control, limits))
  )
    division = divide(controlled, limits, circumstances);
  if (division.allocation.isUnattainable && pauseLocked(controlled, circumstances.pausingLeavesW))
    division = divide(controlled, limits, circumstances);
  const { allocation, locked, unlocked, atRest } = division;
  for (const control of controlled) if (control.decided.isPausedForOperator) aimAt(control, 0, 'paused');
  for (const control of atRest) keepAtRest(control);
  for (const [i, control] of locked.entries()) {
    const { decided, account }: Written = control;
    const shareW = allocation.lockedW[i] ?? 0;
    const isLastResort = allocation.lastResort[i] === true;
    if (isLockAhead(control, limits))
      decided.lockAheadTenthsA = tenthsWithin(shareW, account.milliwattsPerTenth);
    if (isLocked(control)) aimLocked(control, Math.min(shareW, mostOfLockW(control)), isLastResort);
    else aimAheadOfLock(control, shareW, limits.isClusterBound);
    decided.limitedBy = allocation.lockedBindings[i];
  }
  const sharesTenthsA = unlockedTenthsA(division);
  for (const [i, control] of unlocked.entries()) {
    const { decided }: Written = control;
    if (isPauseKept(control, limits, nowMs)) keepAtRest(control);
    else if (allocation.yields[i] === 'floor') aimAtReserved(control, sharesTenthsA[i] ?? 0);
    else aim(control, sharesTenthsA[i] ?? 0, limits.isClusterBound);
    // A connector's fail-safe takes nothing from others while its target is at least as high.
    if (decided.targetTenthsA >= failsafeTenthsAOf(control)) waiveFailsafe(control, false);
    decided.limitedBy = allocation.bindings[i];
  }
}

/** Waives exactly the fail-safes that `isWaived` selects; true if any connector changes. */
function waiveFailsafes(
  controlled: readonly ConnectorControl[],
  isWaived: (control: ConnectorControl) => boolean,
): boolean {
  let isAnyChanged = false;
  for (const control of controlled) {
    const isWaivedNow = isWaived(control);
    isAnyChanged ||= control.failsafe.isWaived !== isWaivedNow;
    waiveFailsafe(control, isWaivedNow);
  }
  return isAnyChanged;
}

/**
 * Pauses locked connectors if their floors exceed the operator's limit and they may be paused; true if any is paused.
 * Connectors without a car go first, then idle ones. Connectors with `neverPause` go last.
 */
function pauseLocked(controlled: readonly Written[], pausingLeavesW: number): boolean {
  let neededW = 0;
  for (const control of controlled)
    neededW += isLocked(control) ? Math.max(floorWOf(control), heldWOf(control)) : heldWOf(control);
  const pausable = controlled.filter(
    (control) => isLocked(control) && control.provisioned.spec.operatorMayPause === true,
  );
  const order = (control: ConnectorControl) =>
    Number(isKeptOn(control)) + 2 * Number(isRunning(control)) + 4 * Number(control.car.demand.hasCar);
  pausable.sort((a, b) => order(a) - order(b) || (a.key < b.key ? 1 : -1));
  let isAnyPaused = false;
  for (const control of pausable) {
    if (neededW <= pausingLeavesW) break;
    const runningW = Math.max(floorWOf(control), heldWOf(control));
    const wasWaived = control.failsafe.isWaived;
    waiveFailsafe(control, true);
    const freedW = runningW - heldWOf(control);
    // A pause that frees nothing helps no other connector.
    if (freedW === 0) waiveFailsafe(control, wasWaived);
    else {
      neededW -= freedW;
      control.decided.isPausedForOperator = true;
      isAnyPaused = true;
    }
  }
  return isAnyPaused;
}

/** Every car can have its floor at the same time. */
function doFloorsFit(
  controlled: readonly ConnectorControl[],
  { availableW, availableTenthsA }: Available,
): boolean {
  let leftW = availableW;
  const leftTenthsA = [...availableTenthsA];
  for (const control of controlled) {
    leftW -= Math.max(heldWOf(control), control.car.demand.hasCar ? floorWOf(control) : 0);
    deductLoad(leftTenthsA, control, control.car.demand.hasCar ? control.account.leastTenthsA : 0);
  }
  return leftW >= 0 && leftTenthsA.every((tenthsA) => tenthsA >= 0);
}

/** Target of each unlocked connector, tenths of an ampere: 0, or within a step of its fair share. */
function unlockedTenthsA(division: Division): readonly number[] {
  const { allocation, unlocked } = division;
  const fairTenthsA: number[] = [];
  const running: number[] = [];
  const claims: SteadyClaim[] = [];
  for (const [i, { granted, car, account }] of unlocked.entries()) {
    const { milliwattsPerTenth, maxTenthsA, circuitPhases } = account;
    const tenthsA = tenthsWithin(allocation.unlockedW[i] ?? 0, milliwattsPerTenth);
    const isPaused = tenthsA < account.leastTenthsA || allocation.yields[i] === 'paused';
    const eachTenthsA = isPaused ? 0 : Math.min(tenthsA, maxTenthsA);
    fairTenthsA.push(eachTenthsA);
    if (eachTenthsA === 0 || allocation.yields[i] !== 'nothing') continue;
    running.push(i);
    claims.push({
      sentTenthsA: granted.sentTenthsA ?? 0,
      fairTenthsA: Math.floor(eachTenthsA),
      mostTenthsA: Math.max(eachTenthsA, car.demand.mostTenthsA),
      maxTenthsA,
      milliwattsPerTenth,
      circuitPhases,
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
  { allocation, locked, unlocked, claims, availableW, availableTenthsA }: Division,
  sharesTenthsA: readonly number[],
): { readonly leftW: number; readonly leftTenthsA: readonly number[] } {
  let leftW = availableW;
  const leftTenthsA = [...availableTenthsA];
  for (const [i, control] of locked.entries()) {
    const shareW = allocation.lockedW[i] ?? 0;
    leftW -= shareW;
    deductLoad(leftTenthsA, control, tenthsWithin(shareW, control.account.milliwattsPerTenth));
  }
  for (const [i, control] of unlocked.entries()) {
    const shareTenthsA = sharesTenthsA[i] ?? 0;
    const shareW = wattsOfTenths(shareTenthsA, control.account.milliwattsPerTenth);
    leftW -= Math.max(shareW, claims[i]?.heldW ?? 0);
    deductLoad(leftTenthsA, control, shareTenthsA);
  }
  return { leftW, leftTenthsA };
}

/** Sets a target and the reason of the limit. */
export function aimAt({ decided }: Written, tenthsA: number, reason: LimitReason): void {
  decided.targetTenthsA = tenthsA;
  decided.reason = reason;
}

/** Aims an uncontrolled connector at its bound. */
export function leaveAtBound(control: Written): void {
  const { account, car, decided } = control;
  const reason = isReadOnly(control) ? 'readOnly' : 'failsafe';
  aimAt(control, account.boundTenthsA, car.compliance.isNonCompliant ? 'nonCompliant' : reason);
  decided.limitedBy = undefined;
}

/** Aims an idle connector at its reservation, and a paused one at 0. */
function keepAtRest(control: ConnectorControl): void {
  const { hasCar } = control.car.demand;
  const heldTenthsA = heldTenthsAOf(control);
  const isUsable = !hasCar && heldTenthsA >= control.account.leastTenthsA;
  aimAt(control, isUsable ? heldTenthsA : 0, hasCar ? 'minimumPause' : 'idle');
}

function aim(control: ConnectorControl, tenthsA: number, isClusterBound: boolean): void {
  let reason: LimitReason = isClusterBound ? 'clusterShare' : 'fairShare';
  if (tenthsA === 0) reason = 'paused';
  else if (tenthsA >= control.account.maxTenthsA) reason = 'maximum';
  else if (tenthsA >= control.car.demand.mostTenthsA) reason = 'demand';
  aimAt(control, Math.floor(tenthsA), reason);
}

/** Locked connectors need all other power. The connector gets only the reservation that its fail-safe requires. */
function aimAtReserved(control: ConnectorControl, tenthsA: number): void {
  aimAt(control, Math.floor(tenthsA), tenthsA === 0 ? 'paused' : 'reserved');
}

function aimLocked(control: ConnectorControl, shareW: number, isLastResort: boolean): void {
  const { account } = control;
  const tenthsA = Math.min(tenthsWithin(shareW, account.milliwattsPerTenth), account.maxTenthsA);
  // A lock's floor is due at any limit. A fuse that cannot carry that floor is not overloaded for it.
  aimAt(control, tenthsA < account.leastTenthsA ? 0 : tenthsA, isLastResort ? 'lastResort' : 'lock');
}

/** Until its lock begins, a connector keeps its limit, and at least its floor and its reserve (rule R52). */
function aimAheadOfLock(control: ConnectorControl, shareW: number, isClusterBound: boolean): void {
  const { account } = control;
  const { sentTenthsA = 0 } = control.granted;
  const tenthsA = Math.min(tenthsWithin(shareW, account.milliwattsPerTenth), account.maxTenthsA);
  const keptTenthsA = Math.min(tenthsA, Math.max(sentTenthsA, account.leastTenthsA, heldTenthsAOf(control)));
  aim(control, keptTenthsA < account.leastTenthsA ? 0 : keptTenthsA, isClusterBound);
}
