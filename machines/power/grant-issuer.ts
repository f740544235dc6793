// Turns what connectors are due into grants: lower limits at once, higher ones as far as there is room, and never more.
import { tenthsAOf } from '../values/units.js';
import { type ConnectorControl, isLocked, powersOf } from './connector-control.js';
import { heldTenthsAOf, thenTenthsAOf } from './failsafes.js';
import type { Grant } from './grant.js';
import type { GrantLedger } from './grant-ledger.js';
import type { Holding } from './holding.js';
import { isRenewalDue, leasedTenthsA, restOfLeaseMs, ttlMsFor, ungrantedTenthsA } from './lease-renewal.js';
import { BeyondGrants, hadTenthsA, leastBesideW } from './ledger-room.js';
import { isLending, isToWiden, lentTo, widens } from './lent-phases.js';
import { noteTold, TOLD_AGAIN_AFTER_MS } from './room-beside.js';
import type { PowerNeed } from './shortage.js';
import { STEP_TENTHS_A } from './steady-shares.js';
import { isEndUnwritten } from './stored-reservation.js';
import {
  isToldAnyway,
  keptTenthsAOf,
  leaveAtBound,
  mostThenOf,
  obeysAnyway,
  owedAtOnceOf,
  type RoomForLeast,
  roomForLeastOf,
} from './told-anyway.js';

/** A grant that was decided, with its connector. */
export interface DecidedGrant {
  readonly control: Readonly<ConnectorControl>;
  readonly grant: Grant;
  /** It entitles to more than is on disk: it may leave only once that is. */
  readonly mustStore: boolean;
  /** What it was told before; undefined where nothing. */
  readonly beforeTenthsA: number | undefined;
}

/** What a decision leaves for grants, W. */
interface GrantRoom {
  readonly budgetW: number;
  /** What the minimum of locks must fit in where it is more than the budget. */
  readonly clusterRoomW: number;
  /** Up to where limits may be raised now: `budgetW`, or less while its clusters have no room for that. */
  readonly raisesToW: number;
  /** What no grant can lower. */
  readonly need: PowerNeed;
  /** The grid operator may order less at any moment, and announces nothing. */
  readonly areOrdersExpected: boolean;
}

/** Raises are this far apart (rule 9). */
const RAISE_EVERY_MS = 10_000;
/** At a start, chargers that hold a grant have this long to report before one of them is told less for want of that. */
const TAKING_STOCK_MS = 3_000;

export class GrantIssuer {
  readonly #ledger: GrantLedger;
  readonly #ownerTerm: number;
  #budgetW = 0;
  #clusterRoomW = 0;
  #raisesToW = 0;
  /** Of those that cannot be relied upon, and do what they are told. */
  #beyondGrants = BeyondGrants.of([]);
  #isOwedAtOnce: (control: ConnectorControl) => boolean = () => false;
  #areOrdersExpected = false;
  #stockTakenAtMs: number | undefined;

  /** @param ownerTerm of this service, higher than that of any before it: the `epoch` of its grants */
  constructor(ledger: GrantLedger, ownerTerm: number) {
    this.#ledger = ledger;
    this.#ownerTerm = ownerTerm;
  }

  /** What may be granted as of the last call of `issue`, W; 0 before the first. */
  get budgetW(): number {
    return this.#budgetW;
  }

  /**
   * What has to be sent so that each connector gets what it is due, as far as that can be.
   * @param controlled those that can be told a limit, with what they are due
   * @param uncontrolled those that cannot be relied upon
   * @param late those of `controlled` that are waited for to take what they were told
   */
  issue(
    controlled: readonly ConnectorControl[],
    uncontrolled: readonly ConnectorControl[],
    room: GrantRoom,
    late: readonly ConnectorControl[],
    nowMs: number,
  ): DecidedGrant[] {
    const { budgetW, need } = room;
    this.#budgetW = budgetW;
    this.#clusterRoomW = room.clusterRoomW;
    this.#raisesToW = room.raisesToW;
    this.#areOrdersExpected = room.areOrdersExpected;
    this.#stockTakenAtMs ??= nowMs + TAKING_STOCK_MS;
    this.#isOwedAtOnce = owedAtOnceOf(controlled, uncontrolled, room, nowMs);
    this.#beyondGrants = BeyondGrants.of(uncontrolled.filter(obeysAnyway).map(({ holding }) => holding));
    const grants = this.#grantTargets(controlled, nowMs);
    for (const control of late) {
      const isTold = control.isStoring || nowMs - control.sentAtMs < TOLD_AGAIN_AFTER_MS;
      if (!isTold) grants.push(this.#grant(control, control.sentTenthsA ?? 0, nowMs));
    }
    for (const control of uncontrolled) leaveAtBound(control);
    const told = uncontrolled.filter(isToldAnyway);
    if (told.length === 0) return grants;
    const by = { budgetW, need, ledger: this.#ledger, isOwedAtOnce: this.#isOwedAtOnce, nowMs };
    const roomFor = roomForLeastOf(uncontrolled, controlled, by);
    for (const control of told.sort((a, b) => Number(isLocked(b)) - Number(isLocked(a)))) {
      const isCounted = this.#beyondGrants.leaveOut(control.holding);
      const grant = this.#tellUncontrolled(control, roomFor(control), nowMs);
      if (isCounted) this.#beyondGrants.count(control.holding);
      if (grant !== undefined) grants.push(grant);
    }
    return grants;
  }

  /** The same limit again for a charger whose heartbeat just came, where it is time. */
  renew(control: ConnectorControl, nowMs: number): DecidedGrant | undefined {
    const { sentTenthsA } = control;
    if (sentTenthsA === undefined || control.isStoring || !control.spec.isActive) return undefined;
    return isRenewalDue(control, nowMs) ? this.#grant(control, sentTenthsA, nowMs) : undefined;
  }

  /** When to issue again for what could not be raised yet; undefined where nothing waits. */
  nextRaiseAtMs(controlled: readonly ConnectorControl[], nowMs: number): number | undefined {
    // Who reports only later asks for a decision by that.
    if (controlled.length === 0) return undefined;
    let nextMs = this.#isTakingStock(nowMs) ? this.#stockTakenAtMs : undefined;
    for (const { sentTenthsA, targetTenthsA, raisedAtMs } of controlled) {
      const isDue = (sentTenthsA ?? 0) + STEP_TENTHS_A <= targetTenthsA;
      const atMs = raisedAtMs + RAISE_EVERY_MS;
      if (isDue && atMs > nowMs) nextMs = Math.min(nextMs ?? atMs, atMs);
    }
    return nextMs;
  }

  #isTakingStock(nowMs: number): boolean {
    return this.#stockTakenAtMs !== undefined && nowMs < this.#stockTakenAtMs;
  }

  /** Decreases at once; raises as far as the others have followed theirs, locked connectors and the least served first. */
  #grantTargets(controlled: readonly ConnectorControl[], nowMs: number): DecidedGrant[] {
    const grants: DecidedGrant[] = [];
    const raises: ConnectorControl[] = [];
    for (const control of controlled) {
      const { sentTenthsA, targetTenthsA } = control;
      const isWider = isToWiden(control) && widens(this.#ledger, control, this.#raisableTenthsA(control));
      const isMore = sentTenthsA === undefined || targetTenthsA > sentTenthsA;
      if (isMore && !isWider) raises.push(control);
      else if ((isWider || targetTenthsA !== sentTenthsA) && !this.#wouldStopLock(control))
        grants.push(this.#grant(control, targetTenthsA, nowMs));
    }
    raises.sort(
      (a, b) => Number(isLocked(b)) - Number(isLocked(a)) || (a.sentTenthsA ?? 0) - (b.sentTenthsA ?? 0),
    );
    for (const control of raises) {
      const grant = this.#raise(control, nowMs);
      if (grant !== undefined) grants.push(grant);
    }
    return grants;
  }

  /** A lock without a sent grant goes on as its charger is until there is room for 6 A: the ledger counts that already. */
  #wouldStopLock(control: ConnectorControl): boolean {
    const { holding, targetTenthsA } = control;
    const { leastTenthsA } = holding;
    if (!isLocked(control) || targetTenthsA < leastTenthsA) return false;
    const isGrantable = this.#ledger.grantableTenthsA(holding, this.#raisesToW) >= leastTenthsA;
    return !isGrantable && ungrantedTenthsA(control) >= leastTenthsA;
  }

  #raise(control: ConnectorControl, nowMs: number): DecidedGrant | undefined {
    const { sentTenthsA, targetTenthsA, holding } = control;
    const { leastTenthsA } = holding;
    if (control.isStoring) return undefined;
    const isFloorOwed =
      isLocked(control) && !control.isPausedForOperator && (sentTenthsA ?? 0) < leastTenthsA;
    const isAtTenthsA = ungrantedTenthsA(control);
    const isCarried = this.#ledger.carriableTenthsA(holding) >= leastTenthsA;
    const isRoom = () => this.#isRoomForLeast(holding) || this.#isOwedAtOnce(control);
    const isFloorDue = () => isCarried && this.#doesClusterCarry(holding) && isRoom();
    // A lock keeps 6 A that its charger had, or was granted before it fell silent: the ledger counts them already.
    const countedTenthsA = () =>
      Math.max(hadTenthsA(holding), this.#ledger.grantableTenthsA(holding, this.#raisesToW));
    const isFloorKept = isFloorOwed && (countedTenthsA() >= leastTenthsA || isFloorDue());
    let tenthsA = Math.min(targetTenthsA, this.#raisableTenthsA(control));
    if (tenthsA < leastTenthsA) tenthsA = isFloorKept ? leastTenthsA : 0;
    if (tenthsA < targetTenthsA) control.reason = 'waiting';
    const keptTenthsA = Math.min(targetTenthsA, leasedTenthsA(control, nowMs));
    if (sentTenthsA === undefined && keptTenthsA > tenthsA)
      return this.#lowerForRestOfLease(control, keptTenthsA, nowMs);
    if (tenthsA < isAtTenthsA && this.#isTakingStock(nowMs)) return undefined;
    // A locked one goes on with the phases that it is on until there is room on all that it is to use.
    if (isFloorOwed && tenthsA === 0 && isAtTenthsA >= leastTenthsA) return undefined;
    if (sentTenthsA !== undefined) {
      const isLast = tenthsA > sentTenthsA && tenthsA === holding.maxTenthsA;
      const isWorthIt = isLast || tenthsA - sentTenthsA >= STEP_TENTHS_A;
      const isPaced = isFloorOwed || nowMs - control.raisedAtMs >= RAISE_EVERY_MS;
      if (!isWorthIt || !isPaced) return undefined;
    }
    if (tenthsA > 0) control.raisedAtMs = nowMs;
    return this.#grant(control, tenthsA, nowMs, { isLockFloor: isFloorKept });
  }

  /**
   * One that comes back is told no more than fits: while it was away the others may have counted on the end of its lease, and one that
   * does not hear that they have to make room holds what it has past that.
   */
  #raisableTenthsA(control: ConnectorControl): number {
    const { holding, sentTenthsA } = control;
    const grantableTenthsA = this.#ledger.grantableTenthsA(holding, this.#raisesToW);
    if (sentTenthsA !== undefined) return grantableTenthsA;
    const fittingTenthsA = this.#ledger.fittingTenthsA(holding, this.#raisesToW);
    return Math.min(grantableTenthsA, Math.max(fittingTenthsA, heldTenthsAOf(control)));
  }

  /**
   * What it came back with it keeps until its lease ends, and no longer. It is lowered at once where it is due less, so that it fits
   * the sooner, and is not taken to have been told anything: what fits is asked again with every decision.
   */
  #lowerForRestOfLease(
    control: ConnectorControl,
    limitTenthsA: number,
    nowMs: number,
  ): DecidedGrant | undefined {
    const { slot, sentAtMs } = control;
    const ttlMs = restOfLeaseMs(control);
    const isLower = limitTenthsA < tenthsAOf(slot.limitA ?? 0);
    if (!isLower || ttlMs === 0 || nowMs - sentAtMs < TOLD_AGAIN_AFTER_MS) return undefined;
    const decided = this.#grant(control, limitTenthsA, nowMs, { mostTtlMs: ttlMs });
    control.sentTenthsA = undefined;
    return decided;
  }

  /**
   * One that cannot be relied upon is told all the same, where it listens: its maximum is reserved whatever it does. It may
   * keep to what it is told, so it is told no more than before until there is room for that.
   */
  #tellUncontrolled(control: ConnectorControl, room: RoomForLeast, nowMs: number): DecidedGrant | undefined {
    const { holding, compliance } = control;
    const isCarried = this.#ledger.carriableTenthsA(holding) >= holding.maxTenthsA;
    // What it has it keeps while others may raise nothing.
    const roomW = control.sentTenthsA === holding.maxTenthsA ? this.#budgetW : this.#raisesToW;
    const isRoomy = this.#ledger.totalW + room.owedW <= roomW && isCarried && !compliance.isNonCompliant;
    control.targetTenthsA = isRoomy ? holding.maxTenthsA : this.#leastToldTenthsA(control, room);
    if (control.targetTenthsA === control.sentTenthsA || control.isStoring) return undefined;
    return this.#grant(control, control.targetTenthsA, nowMs, { isLockFloor: isLocked(control) });
  }

  /**
   * The least it can be offered. Nothing where that does not fit beside what nobody can be lowered below, or would be more than
   * before and the others leave no room for it yet, nor for what locked ones are owed. They have it where nothing is left to wait for.
   */
  #leastToldTenthsA(control: ConnectorControl, { isOwedAtOnce, doesFit, owedW }: RoomForLeast): number {
    const { holding } = control;
    const isCarried = this.#ledger.carriableTenthsA(holding, this.#beyondGrants) >= holding.leastTenthsA;
    const has = keptTenthsAOf(control) >= holding.leastTenthsA;
    const isDue = isOwedAtOnce && isCarried && this.#doesClusterCarry(holding);
    const isKept = isLocked(control) ? has || isDue : has && doesFit;
    const besideW = isLocked(control) ? 0 : owedW;
    return isKept || (isCarried && this.#isRoomForLeast(holding, besideW)) ? holding.leastTenthsA : 0;
  }

  /** The least that it can be offered fits beside what may be drawn, if those obey that nobody relies on but that have obeyed. */
  #isRoomForLeast(holding: Holding, owedW = 0): boolean {
    return this.#withLeastW(holding) + owedW - this.#beyondGrants.powerW <= this.#raisesToW;
  }

  /** What is reserved for all, but for this connector the least that it can be offered, W. */
  #withLeastW(holding: Holding): number {
    return this.#ledger.totalW - holding.boundW + leastBesideW(holding);
  }

  /** The members of the location's clusters have made room for it, or cannot make any. */
  #doesClusterCarry(holding: Holding): boolean {
    return this.#withLeastW(holding) <= this.#clusterRoomW;
  }

  /** Never more than the ledger has room for, whatever was decided before. */
  #grant(
    control: ConnectorControl,
    wantedTenthsA: number,
    nowMs: number,
    { isLockFloor = false, mostTtlMs = Number.POSITIVE_INFINITY } = {},
  ): DecidedGrant {
    const { holding, hb = 0, boot, heardAtMs } = control;
    const grantable = this.#ledger.grantableTenthsA(holding, this.#raisesToW);
    let limitTenthsA = wantedTenthsA;
    if (!isLockFloor && wantedTenthsA > grantable)
      limitTenthsA = grantable < holding.leastTenthsA ? 0 : grantable;
    const wantedThen = thenTenthsAOf(control);
    // A fail-safe that rises waits for the disk, and nothing that can go without waits for it.
    const isOnMorePhases = holding.usedPhases > control.storedPhases;
    const isLower = limitTenthsA < (control.sentTenthsA ?? 0) && !isOnMorePhases;
    const isPlain = nowMs < control.storesAgainAtMs || isLower;
    const beside = { ledger: this.#ledger, beyond: this.#beyondGrants, roomW: this.#raisesToW };
    const mostThen = Math.max(limitTenthsA, Math.min(grantable, mostThenOf(holding, wantedThen, beside)));
    const fittingThen = Math.min(wantedThen, mostThen, isPlain ? control.storedThenTenthsA : mostThen);
    // A charger takes no limit that falls back to less than a car can be offered.
    const thenTenthsA = fittingThen < holding.leastTenthsA ? 0 : fittingThen;
    const { reason, storedTtlMs, sentTenthsA: beforeTenthsA } = control;
    // What leaves at once lasts no longer than is on disk.
    const givenTtlMs = Math.min(ttlMsFor(control, thenTenthsA, this.#areOrdersExpected), mostTtlMs);
    const ttlMs = isPlain && storedTtlMs > 0 ? Math.min(givenTtlMs, storedTtlMs) : givenTtlMs;
    const isToLast = (limitTenthsA > 0 && ttlMs > storedTtlMs) || (!isLower && isEndUnwritten(control));
    const mustStore =
      limitTenthsA > control.storedLimitTenthsA ||
      thenTenthsA > control.storedThenTenthsA ||
      isToLast ||
      (isOnMorePhases && Math.max(limitTenthsA, thenTenthsA) > 0);
    const seq = this.#ledger.grant(holding, {
      limitTenthsA,
      thenTenthsA,
      heardAtMs,
      ttlMs: givenTtlMs,
      isLockFloor,
      budgetW: this.#raisesToW,
      isWaiting: mustStore,
    });
    noteTold(control, { seq, limitTenthsA, beforeTenthsA }, nowMs);
    if (beforeTenthsA === undefined) control.sentFromSeq = seq;
    control.sentTenthsA = limitTenthsA;
    control.sentPhases = holding.usedPhases;
    control.sentAtMs = nowMs;
    control.leasedUntilMs = heardAtMs + ttlMs;
    const { limitW, thenW } = powersOf(control, limitTenthsA, thenTenthsA);
    const epoch = this.#ownerTerm;
    const numbers = { epoch, seq, boot, ref: hb, ttlMs, limitTenthsA, limitW, thenTenthsA, thenW, reason };
    const grant: Grant = isLending(control) ? { ...numbers, lent: lentTo(control) } : numbers;
    return { control, grant, mustStore, beforeTenthsA };
  }
}
