// Connectors that cannot be relied upon and listen all the same: their maxima are reserved, and as a rule they do what they are told.
import { tenthsAOf, wattsOfTenths } from '../values/units.js';
import {
  type ConnectorControl,
  floorWOf,
  isControlled,
  isLocked,
  isReadOnly,
  linkOf,
} from './connector-control.js';
import { heldWOf } from './failsafes.js';
import type { GrantLedger } from './grant-ledger.js';
import type { Holding } from './holding.js';
import { awaitedW, type BeyondGrants, leastBesideW, mayDrawBeyond, toldThenTenthsA } from './ledger-room.js';
import { floorBesideNeedW, lastingWOf, type PowerNeed } from './shortage.js';

/** Limits leave with every heartbeat: a charger that takes them has not left more than these unanswered. */
const LIMITS_ON_THEIR_WAY = 2;

/** Its maximum is reserved whatever it is told, and it listens. */
export function isToldAnyway({ holding, hb, spec, actor }: ConnectorControl): boolean {
  return holding.isWorstCase && linkOf({ actor }) === 'online' && hb !== undefined && spec.isActive;
}

/**
 * It takes what it is told since it is there, and draws no more: as a rule it has only not shown yet that its lease would end. Then
 * what it was granted says what it may draw; and where it does not keep to that, it makes no difference what others are told.
 */
export function obeysAnyway(control: ConnectorControl): boolean {
  const { holding, sentTenthsA, sentFromSeq } = control;
  return mayObey(control) && sentTenthsA !== undefined && holding.ackedSeq >= sentFromSeq;
}

/**
 * What it was told, or says that it is at, as far as it may be entitled to that: what it says may come late, from before its lease
 * has ended.
 */
export function keptTenthsAOf({ sentTenthsA = 0, slot, holding }: ConnectorControl): number {
  return Math.max(sentTenthsA, Math.min(tenthsAOf(slot.limitA ?? 0), holding.entitledTenthsA));
}

/** Of one that cannot be relied upon its bound is reserved, and the reason says why. */
export function leaveAtBound(control: ConnectorControl): void {
  control.targetTenthsA = control.holding.boundTenthsA;
  control.limitedBy = undefined;
  control.reason = control.compliance.isNonCompliant
    ? 'nonCompliant'
    : isReadOnly(control)
      ? 'readOnly'
      : 'failsafe';
}

/** What there is for one of them to be told its least. */
export interface RoomForLeast {
  /** It is locked, and there is nothing that its least would have to wait for. */
  readonly isOwedAtOnce: boolean;
  /** The least that it can be offered fits beside what nobody can be lowered below. */
  readonly doesFit: boolean;
  /** What locked connectors wait for, W. */
  readonly owedW: number;
}

/** The same of each of `uncontrolled`, beside `controlled` that were told what they are due. */
export function roomForLeastOf(
  uncontrolled: readonly ConnectorControl[],
  controlled: readonly ConnectorControl[],
  {
    budgetW,
    need,
    ledger,
    isOwedAtOnce,
    nowMs,
  }: {
    readonly budgetW: number;
    readonly need: PowerNeed;
    readonly ledger: GrantLedger;
    readonly isOwedAtOnce: (control: ConnectorControl) => boolean;
    readonly nowMs: number;
  },
): (control: ConnectorControl) => RoomForLeast {
  const fitting = thoseThatFit(uncontrolled, budgetW - need.lockedW - need.heldW, nowMs);
  const owedW = owedFloorsW(controlled, ledger);
  return (control) => ({
    isOwedAtOnce: isLocked(control) && isOwedAtOnce(control),
    doesFit: fitting.has(control),
    owedW,
  });
}

/**
 * Whether there is nothing that the least of a connector would have to wait for: not everything fits that cannot be lowered, that least
 * included, whatever it falls back to by itself, and none of the others lets go of anything, or it fits beside what they may draw by what
 * they were told.
 */
export function owedAtOnceOf(
  controlled: readonly ConnectorControl[],
  uncontrolled: readonly ConnectorControl[],
  { budgetW, need }: { readonly budgetW: number; readonly need: PowerNeed },
  nowMs: number,
): (control: ConnectorControl) => boolean {
  return (control) => {
    const beside = uncontrolled.filter((each) => each !== control);
    const isUncounted = beside.length < uncontrolled.length;
    const ownW = isUncounted ? floorWOf(control) : floorBesideNeedW(control, nowMs);
    if (neededW(need, beside, nowMs) + ownW <= budgetW) return false;
    const others = [...controlled.filter((each) => each !== control), ...beside];
    const fitting = thoseThatFit(uncontrolled, budgetW - need.lockedW - need.heldW, nowMs);
    if (!others.some((each) => isLettingGo(each, nowMs, dueTenthsAOf(each, fitting)))) return true;
    const besideW = others.reduce((sumW, { holding }) => sumW + awaitedW(holding, nowMs), 0);
    return besideW + floorWOf(control) <= budgetW;
  };
}

/**
 * What it is told now at the most: those that cannot be relied upon are told after the others, and while a lock waits no more than their
 * least, and 0 where that does not fit beside the lock's.
 */
function dueTenthsAOf(control: ConnectorControl, fitting: ReadonlySet<ConnectorControl>): number {
  if (isControlled(control)) return control.targetTenthsA;
  return isLocked(control) || fitting.has(control) ? control.holding.leastTenthsA : 0;
}

/**
 * It may draw more still than it is left with: what it was told before, and, where nobody can tell it anything, what it was told last,
 * but for the least of a lock. That settles, or ends with its lease.
 * @param dueTenthsA what it is told now, where that may be less than what it was told last
 */
export function isLettingGo(
  control: ConnectorControl,
  nowMs: number,
  dueTenthsA = control.holding.maxTenthsA,
): boolean {
  const { holding } = control;
  const isTold = isControlled(control) || isToldAnyway(control);
  const ofLockTenthsA = isLocked(control) ? holding.leastTenthsA : 0;
  return mayDrawBeyond(holding, isTold ? dueTenthsA : ofLockTenthsA, nowMs);
}

/** What nobody can be lowered below, once all do what they are told, W. */
function neededW(
  { lockedW, heldW }: PowerNeed,
  uncontrolled: readonly ConnectorControl[],
  nowMs: number,
): number {
  return uncontrolled.reduce((sumW, control) => sumW + neededWOf(control, nowMs), lockedW + heldW);
}

/**
 * What locked connectors are owed of their least, and have no room for yet, W: those that are told anyway leave it to them. Not
 * where a fuse is what is full: of that their maxima are reserved, whatever they do.
 */
function owedFloorsW(controlled: readonly ConnectorControl[], ledger: GrantLedger): number {
  let owedW = 0;
  for (const control of controlled) {
    const { holding, targetTenthsA, sentTenthsA = 0 } = control;
    const { leastTenthsA } = holding;
    const isOwed = isLocked(control) && sentTenthsA < leastTenthsA && targetTenthsA >= leastTenthsA;
    if (isOwed && ledger.carriableTenthsA(holding) >= leastTenthsA)
      owedW += leastBesideW(holding) - holding.boundW;
  }
  return Math.max(0, owedW);
}

/**
 * Those of them that are told something anyway and whose least fits into `leftW` beside that of the others; locked ones are owed
 * theirs, fitting or not.
 */
function thoseThatFit(
  uncontrolled: readonly ConnectorControl[],
  leftW: number,
  nowMs: number,
): ReadonlySet<ConnectorControl> {
  let roomW = leftW;
  for (const control of uncontrolled) if (!isToldAnyway(control)) roomW -= lastingWOf(control, nowMs);
  const fitting = new Set<ConnectorControl>();
  const told = uncontrolled.filter(isToldAnyway);
  for (const control of [...told.filter(isLocked), ...told.filter((each) => !isLocked(each))]) {
    const leastW = floorWOf(control);
    if (leastW <= roomW) fitting.add(control);
    if (leastW <= roomW || isLocked(control)) roomW -= leastW;
  }
  return fitting;
}

/** What is reserved at a location, up to where it may be raised, and what of it is for those who may not keep to what they are told. */
interface Beside {
  readonly ledger: GrantLedger;
  readonly beyond: BeyondGrants;
  readonly roomW: number;
}

/**
 * The most that a connector may be told to fall back to. Where its maximum is reserved, that is no more than before until there is
 * room for it: it may keep to what it is told, and until the others have followed theirs they hold what they had.
 */
export function mostThenOf(
  holding: Holding,
  wantedTenthsA: number,
  { ledger, beyond, roomW }: Beside,
): number {
  const beforeTenthsA = toldThenTenthsA(holding);
  if (!holding.isWorstCase || wantedTenthsA <= beforeTenthsA) return holding.maxTenthsA;
  const isCounted = beyond.leaveOut(holding);
  const othersW = ledger.totalW - holding.boundW - beyond.powerW;
  const isRoom = othersW + wattsOfTenths(wantedTenthsA, holding.milliwattsPerTenth) <= roomW;
  const isCarried = ledger.carriableTenthsA(holding, beyond) >= wantedTenthsA;
  if (isCounted) beyond.count(holding);
  return isRoom && isCarried ? holding.maxTenthsA : beforeTenthsA;
}

/** It has not drawn more than it was told, and took one of the newest limits: the others may be on their way. */
function mayObey(control: ConnectorControl): boolean {
  const { holding, compliance } = control;
  const isTaking = holding.lastSeq - holding.ackedSeq <= LIMITS_ON_THEIR_WAY;
  return isTaking && !compliance.isNonCompliant && isToldAnyway(control);
}

/** What it cannot be lowered below, W. */
function neededWOf(control: ConnectorControl, nowMs: number): number {
  if (!mayObey(control)) return lastingWOf(control, nowMs);
  return isLocked(control) ? Math.max(floorWOf(control), heldWOf(control)) : heldWOf(control);
}
