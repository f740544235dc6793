// Converts targets into grants. Lower limits leave at once; higher ones leave as far as the remaining capacity allows.

import type { Entitlements } from '../ledger/entitlements.js';
import { type Grant, ttlMsOf } from '../ledger/grant.js';
import { BeyondGrants, type CircuitLoads, type Ledger, leaseToStore } from '../ledger/ledger.js';
import { mostOnFirst } from '../ledger/own-phases.js';
import { tenthsAOf, wattsOfTenths } from '../values/units.js';
import { type Connector, floorWOf, isLocked, powersOf } from './connector.js';
import { aimAt, leaveAtBound } from './connector-targets.js';
import { heldTenthsAOf, thenTenthsAOf } from './failsafes.js';
import { type DecidedGrant, REPEAT_AFTER_MS, recordRaise, recordSent, restartSent } from './granted.js';
import { isReallocating, isToWiden, reallocatedTo, widens } from './reallocated-phases.js';
import type { PowerNeed } from './shortage.js';
import { STEP_TENTHS_A } from './steady-shares.js';
import {
  type CapacityForMinimum,
  capacityForMinimumOf,
  hasObeyed,
  keptTenthsAOf,
  mostThenOf,
  owedAtOnceOf,
  receivesUnverifiedLimits,
} from './unverified-chargers.js';

// Length and due time of lease renewals, and the limit that a charger still holds by a lease.

/**
 * A younger grant, as a share of a heartbeat, is not renewed, because a charger may report every change. A charger
 * reports at once after a reconnect, and its next heartbeat comes a whole interval later. So a renewal takes at most
 * one and two thirds of a heartbeat.
 */
const RENEW_AFTER_HEARTBEATS = 2 / 3;
/** A lease that ends within this many heartbeats is renewed earlier, because the next heartbeat could come too late. */
const RENEW_BEFORE_HEARTBEATS = 1.25;
/**
 * Short lease while a lower order may come at any moment. It applies only if it ends within the time to follow an
 * order.
 */
const SHORT_LEASE_HEARTBEATS = 1.5;
/** A gateway rounds the end of a lease down to a whole second, and needs a moment to write the next one. */
const SHORT_LEASE_MARGIN_MS = 3_000;
const ORDER_FOLLOWED_WITHIN_MS = 15_000;
const SECOND_MS = 1_000;

/** The current limit is due for renewal after this heartbeat. */
function isRenewalDue(connector: Connector, nowMs: number): boolean {
  const { account, granted, telemetry } = connector;
  const { sentAtMs, leasedUntilMs } = granted;
  const { receivedAtMs, isEndOpen } = telemetry;
  const { heartbeatMs } = connector.provisioned.timing;
  // The charger awaits that answer.
  if (isEndOpen) return receivedAtMs > sentAtMs;
  const isTaken = account.ackedSeq === account.lastSeq;
  const endsSoon = leasedUntilMs - nowMs < RENEW_BEFORE_HEARTBEATS * heartbeatMs;
  const afterMs = isTaken ? RENEW_AFTER_HEARTBEATS * heartbeatMs : REPEAT_AFTER_MS;
  if (nowMs - sentAtMs < afterMs && !(isTaken && endsSoon)) return false;
  return receivedAtMs > sentAtMs;
}

/**
 * Lease length. It is short if an order may come and the fallback does not stop the car (R51). Then an unreachable
 * charger stops no other.
 */
function ttlMsFor(
  { account, provisioned: { timing } }: Connector,
  thenTenthsA: number,
  areOrdersExpected: boolean,
): number {
  if (!areOrdersExpected || thenTenthsA < account.leastTenthsA) return account.ttlMs;
  const { heartbeatMs } = timing;
  const shortMs = Math.max(SHORT_LEASE_HEARTBEATS * heartbeatMs, heartbeatMs + SHORT_LEASE_MARGIN_MS);
  return shortMs <= ORDER_FOLLOWED_WITHIN_MS ? Math.min(account.ttlMs, shortMs) : account.ttlMs;
}

/**
 * Limit that the charger reports while no grant of this service lasts, tenths of an ampere. It may be for fewer phases
 * than intended.
 */
function ungrantedTenthsA({ account, telemetry: { slot } }: Connector): number {
  return account.isWithoutSentGrant ? Math.min(tenthsAOf(slot.limitA ?? 0), account.boundTenthsA) : 0;
}

/** A lock has its minimum under any limit but the grid operator's (R17). */
function isFloorOwed(connector: Connector): boolean {
  return isLocked(connector) && !connector.decided.isPausedForOperator;
}

/** Earlier limits may outlast their leases, and the row on disk does not show that (R41). */
function isEndUnwritten({ telemetry, granted, account }: Connector): boolean {
  return telemetry.isEndOpen && granted.storedLease !== leaseToStore(account);
}

/**
 * Part of the newest sent limit that the charger still holds under a valid lease, tenths of an ampere; 0 without one.
 */
function leasedTenthsA({ account, telemetry: { slot } }: Connector, nowMs: number): number {
  if (account.leaseEndMs <= nowMs) return 0;
  return Math.min(tenthsAOf(slot.limitA ?? 0), account.grantedTenthsA);
}

/** Longest lease, ms from the newest heartbeat, that ends by `endMs` on the slowest clock. */
function ttlMsUntil(endMs: number, { account, telemetry: { receivedAtMs } }: Connector): number {
  // `ttlMsOf` rounds up by less than a millisecond.
  const leftMs = ttlMsOf(endMs - receivedAtMs) - 1;
  return Math.min(wholeSecondsOf(leftMs), account.ttlMs);
}

/** Leases have whole seconds on the wire. */
function wholeSecondsOf(ttlMs: number): number {
  return Math.max(0, Math.floor(ttlMs / SECOND_MS) * SECOND_MS);
}

/** Grants to the charger end at a known time. It counts leases from its heartbeats, and its clock stays as it is. */
function hasKnownEnd({ account, telemetry: { isEndOpen } }: Connector): boolean {
  return account.lease === 'heartbeat' && !isEndOpen;
}

/**
 * Entitlement from `fromMs` on, W (R3). A grant without a known end may be renewed until then, so it counts. So does the
 * minimum of a lock that holds then, because it lasts at any limit (R17).
 */
export function outlastingW(
  connector: Connector,
  fromMs: number,
  isLockedAt: GrantRoom['isLockedAt'],
): number {
  const { account, car, decided, key } = connector;
  const lastingW = hasKnownEnd(connector) ? account.boundWFrom(fromMs) : account.boundW;
  const hasFloor = car.demand.hasCar && !decided.isPausedForOperator && isLockedAt(key, fromMs);
  return hasFloor ? Math.max(lastingW, floorWOf(connector)) : lastingW;
}

/** Capacity for grants after a decision, W. */
interface GrantRoom {
  readonly budgetW: number;
  /** The limit in force. */
  readonly limitW: number;
  /** Capacity for the minimum of locks if that exceeds the budget. */
  readonly clusterRoomW: number;
  /** Raises stop at this power: `budgetW`, or less while the clusters lack capacity. */
  readonly raisesToW: number;
  /** Power that no grant can lower. */
  readonly need: PowerNeed;
  /** The grid operator may order a lower limit at any moment without notice. */
  readonly areOrdersExpected: boolean;
  /** A lock holds at that monotonic time. */
  isLockedAt(key: string, atMs: number): boolean;
  /** Lower limits that begin before the longest lease ends. */
  readonly ahead: readonly LimitAhead[];
}

/** Capacity from the start of a lower limit on, beside all that outlasts that start (R3). */
export interface LimitAhead {
  /** Start of the limit, monotonic ms. */
  readonly fromMs: number;
  leftW: number;
  /** The budget is that limit already, so leases outlast its start as far as they fit it. Otherwise none does. */
  readonly isBudget: boolean;
}

/** Interval between raises (rule 9). */
const RAISE_EVERY_MS = 10_000;

/** Time of the next possible raise; infinite if none is outstanding. */
export function nextRaiseAtMs({ granted, decided }: Connector, nowMs: number): number {
  const { sentTenthsA = 0, raisedAtMs } = granted;
  const atMs = raisedAtMs + RAISE_EVERY_MS;
  const isOutstanding = sentTenthsA + STEP_TENTHS_A <= decided.targetTenthsA && atMs > nowMs;
  return isOutstanding ? atMs : Number.POSITIVE_INFINITY;
}

/**
 * After a service start, chargers with an old grant have this long to report. Until then, missing reports lower no
 * other charger.
 */
const TAKING_STOCK_MS = 3_000;

/** Capacity that others leave to locks that begin soon, beside the entitlements of these connectors (R52). */
class KeptForLocks implements CircuitLoads {
  powerW = 0;
  readonly #tenthsA = new Map<number, number>();

  constructor(controlled: readonly Connector[]) {
    for (const { account, decided } of controlled) {
      const { lockAheadTenthsA } = decided;
      if (lockAheadTenthsA === 0) continue;
      const { boundW, loads, usedPhases, allCircuitPhases, milliwattsPerTenth } = account;
      this.powerW += Math.max(0, wattsOfTenths(lockAheadTenthsA, milliwattsPerTenth) - boundW);
      for (const { circuitPhase, phase } of allCircuitPhases) {
        if (phase >= usedPhases) continue;
        const moreTenthsA = Math.max(0, lockAheadTenthsA - (loads[phase] ?? 0));
        this.#tenthsA.set(circuitPhase, (this.#tenthsA.get(circuitPhase) ?? 0) + moreTenthsA);
      }
    }
  }

  /** Negative: the ledger does not count this load yet. */
  tenthsAOf(circuitPhase: number): number {
    return -(this.#tenthsA.get(circuitPhase) ?? 0);
  }
}

const NOTHING_KEPT = new KeptForLocks([]);

/** No lower limit begins soon. */
const NONE: readonly number[] = [];

export class GrantIssuer {
  readonly #ledger: Ledger;
  readonly #ownerTerm: number;
  readonly #settleMs: number;
  #budgetW = 0;
  #limitW = 0;
  #clusterRoomW = 0;
  #raisesToW = 0;
  /** Excess reservations of unverified chargers that obey their limits. */
  #beyondGrants = BeyondGrants.of([]);
  #keptForLocks = NOTHING_KEPT;
  #isOwedAtOnce: (connector: Connector) => boolean = () => false;
  #areOrdersExpected = false;
  #ahead: readonly LimitAhead[] = [];
  #isLockedAt: GrantRoom['isLockedAt'] = () => false;
  #stockTakenAtMs: number | undefined;

  /** @param ownerTerm ownership term of this service, higher than any before; the `epoch` of its grants */
  constructor(ledger: Ledger, { ownerTerm, settleMs }: { ownerTerm: number; settleMs: number }) {
    this.#ledger = ledger;
    this.#ownerTerm = ownerTerm;
    this.#settleMs = settleMs;
  }

  /** Budget of the last `issue` call, W; 0 before the first. */
  get budgetW(): number {
    return this.#budgetW;
  }

  /**
   * Decides the grants that bring each connector as close to its target as capacity allows.
   * @param controlled connectors that can receive a limit, with their targets.
   * @param uncontrolled connectors that are unreachable or unverified.
   * @param late connectors of `controlled` that have not taken a lower limit in time.
   */
  issue(
    controlled: readonly Connector[],
    uncontrolled: readonly Connector[],
    room: GrantRoom,
    late: readonly Connector[],
    nowMs: number,
  ): DecidedGrant[] {
    const { budgetW, need } = room;
    this.#budgetW = budgetW;
    this.#limitW = room.limitW;
    this.#clusterRoomW = room.clusterRoomW;
    this.#raisesToW = room.raisesToW;
    this.#areOrdersExpected = room.areOrdersExpected;
    this.#ahead = room.ahead;
    this.#isLockedAt = room.isLockedAt;
    this.#stockTakenAtMs ??= nowMs + TAKING_STOCK_MS;
    this.#isOwedAtOnce = owedAtOnceOf(controlled, uncontrolled, room, nowMs);
    this.#beyondGrants = BeyondGrants.of(uncontrolled.filter(hasObeyed).map(({ account }) => account));
    this.#keptForLocks = new KeptForLocks(controlled);
    const grants = this.#grantTargets(controlled, nowMs);
    for (const connector of late) {
      const isTold = connector.granted.isStoring || nowMs - connector.granted.sentAtMs < REPEAT_AFTER_MS;
      if (!isTold) grants.push(this.#grant(connector, connector.granted.sentTenthsA ?? 0, nowMs));
    }
    for (const connector of uncontrolled) leaveAtBound(connector);
    const told = uncontrolled.filter(receivesUnverifiedLimits);
    if (told.length === 0) return grants;
    const by = { budgetW, need, ledger: this.#ledger, isOwedAtOnce: this.#isOwedAtOnce, nowMs };
    const roomFor = capacityForMinimumOf(uncontrolled, controlled, by);
    for (const connector of told.sort((a, b) => Number(isLocked(b)) - Number(isLocked(a)))) {
      const isCounted = this.#beyondGrants.leaveOut(connector.account);
      const grant = this.#tellUncontrolled(connector, roomFor(connector), nowMs);
      if (isCounted) this.#beyondGrants.count(connector.account);
      if (grant !== undefined) grants.push(grant);
    }
    return grants;
  }

  /** Renewal of the current limit after a heartbeat; undefined if none is due. */
  renew(connector: Connector, nowMs: number): DecidedGrant | undefined {
    const { sentTenthsA, isStoring } = connector.granted;
    if (sentTenthsA === undefined || isStoring || !connector.provisioned.spec.isActive) return undefined;
    if (!isRenewalDue(connector, nowMs)) return undefined;
    const tenthsA = this.#renewableTenthsA(connector, sentTenthsA);
    return tenthsA < sentTenthsA && tenthsA < connector.account.leastTenthsA
      ? undefined
      : this.#grant(connector, tenthsA, nowMs);
  }

  /**
   * Beside a reserved maximum any grant adds nothing to the reserve. A limit that has ended is granted anew only as far
   * as it fits all the same, because its charger may keep to it (R8).
   */
  #renewableTenthsA({ account }: Connector, sentTenthsA: number): number {
    if (!account.isWorstCase || account.lease === 'none') return sentTenthsA;
    const coveredTenthsA = mostOnFirst(account.entitled, account.usedPhases);
    if (coveredTenthsA >= sentTenthsA) return sentTenthsA;
    return Math.min(
      sentTenthsA,
      Math.max(coveredTenthsA, this.#ledger.fittingTenthsA(account, this.#raisesToW)),
    );
  }

  /** End of the time in which chargers report after a start; infinite if it is over. */
  stockTakenAfterMs(nowMs: number): number {
    const { POSITIVE_INFINITY } = Number;
    return this.#isTakingStock(nowMs) ? (this.#stockTakenAtMs ?? POSITIVE_INFINITY) : POSITIVE_INFINITY;
  }

  #isTakingStock(nowMs: number): boolean {
    return this.#stockTakenAtMs !== undefined && nowMs < this.#stockTakenAtMs;
  }

  /**
   * Decreases leave at once. Raises leave as far as others have released capacity: locked connectors first, then those
   * with the lowest limits.
   */
  #grantTargets(controlled: readonly Connector[], nowMs: number): DecidedGrant[] {
    const grants: DecidedGrant[] = [];
    const raises: Connector[] = [];
    for (const connector of controlled) {
      const { sentTenthsA } = connector.granted;
      const { targetTenthsA } = connector.decided;
      const isWider = isToWiden(connector) && widens(connector, this.#raisableTenthsA(connector));
      const isMore = sentTenthsA === undefined || targetTenthsA > sentTenthsA;
      if (isMore && !isWider) raises.push(connector);
      else if ((isWider || targetTenthsA !== sentTenthsA) && !this.#wouldStopLock(connector))
        grants.push(this.#grant(connector, targetTenthsA, nowMs));
    }
    const sentTo = ({ granted }: Connector) => granted.sentTenthsA ?? 0;
    raises.sort((a, b) => Number(isLocked(b)) - Number(isLocked(a)) || sentTo(a) - sentTo(b));
    for (const connector of raises) {
      const grant = this.#raise(connector, nowMs);
      if (grant !== undefined) grants.push(grant);
    }
    for (const connector of controlled) {
      const { isLeaseCut, isStoring, sentTenthsA } = connector.granted;
      if (isLeaseCut && !isStoring && sentTenthsA !== undefined && this.#extendsLease(connector, sentTenthsA))
        grants.push(this.#grant(connector, sentTenthsA, nowMs));
    }
    return grants;
  }

  /** Lease of a grant, ms from the newest heartbeat. It outlasts no lower limit that the grant does not fit (R3). */
  #ttlMsFor(connector: Connector, limitTenthsA: number, thenTenthsA: number): number {
    const { account } = connector;
    const { isLeaseCut, leasedUntilMs } = connector.granted;
    const { receivedAtMs } = connector.telemetry;
    let ttlMs = ttlMsFor(connector, thenTenthsA, this.#areOrdersExpected);
    // The end of such a lease changes nothing, or is not known.
    if (limitTenthsA <= thenTenthsA || account.lease !== 'heartbeat') return ttlMs;
    const isFloor = isFloorOwed(connector) && limitTenthsA <= account.leastTenthsA;
    for (const limit of this.#ahead) {
      if (isFloor && this.#isLockedAt(connector.key, limit.fromMs)) continue;
      if (!limit.isBudget || limitTenthsA > this.#outlastingTenthsA(connector, limit))
        ttlMs = Math.min(ttlMs, ttlMsUntil(limit.fromMs - this.#settleMs, connector));
    }
    // Beyond the end of a cut lease, its limit is a raise: it must fit the limit that has begun.
    if (isLeaseCut && !isFloor && limitTenthsA > this.#ledger.fittingTenthsA(account, this.#limitW))
      ttlMs = Math.min(ttlMs, wholeSecondsOf(leasedUntilMs - receivedAtMs));
    return ttlMs;
  }

  #extendsLease(connector: Connector, limitTenthsA: number): boolean {
    const { account, telemetry, granted } = connector;
    const ttlMs = this.#ttlMsFor(connector, limitTenthsA, account.grantedThenTenthsA);
    return telemetry.receivedAtMs + ttlMs >= granted.leasedUntilMs + SECOND_MS;
  }

  /** Highest current that may outlast the start of a lower limit. */
  #outlastingTenthsA(connector: Connector, { fromMs, leftW }: LimitAhead): number {
    const { account } = connector;
    const roomW = leftW + outlastingW(connector, fromMs, this.#isLockedAt);
    if (hasKnownEnd(connector)) return this.#ledger.fittingFromTenthsA(account, roomW, fromMs);
    return this.#ledger.fittingTenthsA(account, this.#ledger.totalW - account.boundW + roomW);
  }

  /** Highest fallback that may outlast the start of each lower limit. One that the charger has adds nothing. */
  #mostThenAheadTenthsA(connector: Connector): number {
    let mostTenthsA = Number.POSITIVE_INFINITY;
    for (const limit of this.#ahead) {
      const fittingTenthsA = this.#outlastingTenthsA(connector, limit);
      mostTenthsA = Math.min(mostTenthsA, Math.max(connector.account.failsafeTenthsA, fittingTenthsA));
    }
    return mostTenthsA;
  }

  /** Entitlement of the connector from the start of each lower limit on, W. */
  #outlastingW(connector: Connector): readonly number[] {
    return this.#ahead.map(({ fromMs }) => outlastingW(connector, fromMs, this.#isLockedAt));
  }

  #deductOutlasting(connector: Connector, beforeW: readonly number[]): void {
    for (const [i, limit] of this.#ahead.entries())
      limit.leftW -= Math.max(0, outlastingW(connector, limit.fromMs, this.#isLockedAt) - (beforeW[i] ?? 0));
  }

  /** A locked charger without a sent grant keeps its own limit until 6 A fit. The ledger counts that limit already. */
  #wouldStopLock(connector: Connector): boolean {
    const { leastTenthsA } = connector.account;
    if (!isLocked(connector) || connector.decided.targetTenthsA < leastTenthsA) return false;
    const isGrantable = this.#grantableTenthsA(connector) >= leastTenthsA;
    return !isGrantable && ungrantedTenthsA(connector) >= leastTenthsA;
  }

  #raise(connector: Connector, nowMs: number): DecidedGrant | undefined {
    const { sentTenthsA, isStoring, raisedAtMs } = connector.granted;
    const { targetTenthsA } = connector.decided;
    const { leastTenthsA, maxTenthsA } = connector.account;
    if (isStoring) return undefined;
    const isLockToRise = isFloorOwed(connector) && (sentTenthsA ?? 0) < leastTenthsA;
    const isAtTenthsA = ungrantedTenthsA(connector);
    const isFloorKept = isLockToRise && this.#isFloorDue(connector);
    let tenthsA = Math.min(targetTenthsA, this.#raisableTenthsA(connector));
    if (tenthsA < leastTenthsA) tenthsA = isFloorKept ? leastTenthsA : 0;
    if (tenthsA < targetTenthsA) aimAt(connector, targetTenthsA, 'waiting');
    const keptTenthsA = Math.min(targetTenthsA, leasedTenthsA(connector, nowMs));
    if (sentTenthsA === undefined && keptTenthsA > tenthsA)
      return this.#lowerForRestOfLease(connector, keptTenthsA, nowMs);
    if (tenthsA < isAtTenthsA && this.#isTakingStock(nowMs)) return undefined;
    // A locked connector keeps its current phases until all its intended phases have capacity.
    if (isLockToRise && tenthsA === 0 && isAtTenthsA >= leastTenthsA) return undefined;
    if (sentTenthsA !== undefined) {
      const isLast = tenthsA > sentTenthsA && tenthsA === maxTenthsA;
      const isWorthIt = isLast || tenthsA - sentTenthsA >= STEP_TENTHS_A;
      const isPaced = isLockToRise || nowMs - raisedAtMs >= RAISE_EVERY_MS;
      if (!isWorthIt || !isPaced) return undefined;
    }
    if (tenthsA > 0) recordRaise(connector, nowMs);
    return this.#grant(connector, tenthsA, nowMs, { isLockFloor: isFloorKept });
  }

  /** A lock keeps 6 A that the ledger counts already. Else it waits until others have released them, or none will. */
  #isFloorDue(connector: Connector): boolean {
    const { account } = connector;
    const { leastTenthsA } = account;
    if (Math.max(account.hadTenthsA, this.#grantableTenthsA(connector)) >= leastTenthsA) return true;
    if (this.#ledger.carriableTenthsA(account) < leastTenthsA) return false;
    const isOn = (connector.granted.sentTenthsA ?? 0) >= leastTenthsA;
    if (isOn && mostOnFirst(account.bounds, account.grantedPhases) >= leastTenthsA) return true;
    return (
      this.#doesClusterCarry(account) &&
      (this.#isCapacityForMinimum(account) || this.#isOwedAtOnce(connector))
    );
  }

  /**
   * Highest limit for a raise. A connector that reconnects gets no more than fits, because others may have relied on
   * the end of its lease. A charger that misses its lower limit would hold its current one beyond that.
   */
  #raisableTenthsA(connector: Connector): number {
    const { account, granted } = connector;
    const grantableTenthsA = this.#grantableTenthsA(connector);
    if (granted.sentTenthsA !== undefined) return grantableTenthsA;
    const kept = this.#keptFrom(connector);
    const fittingTenthsA = this.#ledger.fittingTenthsA(account, this.#raisesToW - kept.powerW, kept);
    return Math.min(grantableTenthsA, Math.max(fittingTenthsA, heldTenthsAOf(connector)));
  }

  #grantableTenthsA(connector: Connector): number {
    const kept = this.#keptFrom(connector);
    let tenthsA = this.#ledger.grantableTenthsA(connector.account, this.#raisesToW - kept.powerW, kept);
    if (hasKnownEnd(connector)) return tenthsA;
    for (const limit of this.#ahead)
      if (!limit.isBudget) tenthsA = Math.min(tenthsA, this.#outlastingTenthsA(connector, limit));
    return tenthsA;
  }

  /** No other connector rises into the room of a lock that begins soon (R52). */
  #keptFrom(connector: Connector): KeptForLocks {
    return isLocked(connector) || connector.decided.lockAheadTenthsA > 0 ? NOTHING_KEPT : this.#keptForLocks;
  }

  /**
   * Grants a reconnected charger its limit for the rest of its lease only. If its target is lower, the lower limit
   * leaves at once and frees capacity earlier. The limit does not count as sent, so every decision tries again to fit
   * the target.
   */
  #lowerForRestOfLease(connector: Connector, limitTenthsA: number, nowMs: number): DecidedGrant | undefined {
    const { account, telemetry, granted } = connector;
    const ttlMs = ttlMsUntil(account.leaseEndMs, connector);
    const isLower = limitTenthsA < tenthsAOf(telemetry.slot.limitA ?? 0);
    if (!isLower || ttlMs === 0 || nowMs - granted.sentAtMs < REPEAT_AFTER_MS) return undefined;
    const decided = this.#grant(connector, limitTenthsA, nowMs, { mostTtlMs: ttlMs });
    restartSent(connector);
    return decided;
  }

  /**
   * Sends a limit to an online charger without verified lease, although its maximum stays reserved. The charger may
   * obey, so the limit rises only after capacity for it is free.
   */
  #tellUncontrolled(connector: Connector, room: CapacityForMinimum, nowMs: number): DecidedGrant | undefined {
    const { account, car, granted, decided } = connector;
    const { sentTenthsA, isStoring } = granted;
    const isCarried = this.#ledger.carriableTenthsA(account) >= account.maxTenthsA;
    // The connector keeps a granted maximum while others may not raise.
    const roomW = sentTenthsA === account.maxTenthsA ? this.#budgetW : this.#raisesToW;
    const isRoomy = this.#ledger.totalW + room.owedW <= roomW && isCarried && !car.compliance.isNonCompliant;
    const tenthsA = isRoomy ? account.maxTenthsA : this.#leastToldTenthsA(connector, room);
    aimAt(connector, tenthsA, decided.reason);
    if (tenthsA === sentTenthsA || isStoring) return undefined;
    return this.#grant(connector, tenthsA, nowMs, { isLockFloor: isLocked(connector) });
  }

  /**
   * The connector's minimum, or 0. An unlocked connector keeps its minimum if it fits beside all power that cannot be
   * lowered. A raise to the minimum also waits until others have released it, and until the floors owed to locks fit. A
   * locked connector gets its minimum at once if nothing remains to wait for.
   */
  #leastToldTenthsA(connector: Connector, { isOwedAtOnce, doesFit, owedW }: CapacityForMinimum): number {
    const { account } = connector;
    const isCarried = this.#ledger.carriableTenthsA(account, this.#beyondGrants) >= account.leastTenthsA;
    const has = keptTenthsAOf(connector) >= account.leastTenthsA;
    const isDue = isOwedAtOnce && isCarried && this.#doesClusterCarry(account);
    const isKept = isLocked(connector) ? has || isDue : has && doesFit;
    const besideW = isLocked(connector) ? 0 : owedW;
    return isKept || (isCarried && this.#isCapacityForMinimum(account, besideW)) ? account.leastTenthsA : 0;
  }

  /** The connector's minimum fits, if unverified chargers that have obeyed so far continue to obey. */
  #isCapacityForMinimum(account: Entitlements, owedW = 0): boolean {
    return this.#withLeastW(account) + owedW - this.#beyondGrants.powerW <= this.#raisesToW;
  }

  /** Total reservation with the connector counted at its minimum, W. */
  #withLeastW(account: Entitlements): number {
    return this.#ledger.totalW - account.boundW + account.leastBesideW;
  }

  /** The other cluster members have released capacity for the minimum, or cannot release any (R46). */
  #doesClusterCarry(account: Entitlements): boolean {
    return this.#withLeastW(account) <= this.#clusterRoomW;
  }

  /** Records a grant, capped at the ledger's capacity. */
  #grant(
    connector: Connector,
    wantedTenthsA: number,
    nowMs: number,
    { isLockFloor = false, mostTtlMs = Number.POSITIVE_INFINITY } = {},
  ): DecidedGrant {
    const { account, granted } = connector;
    const {
      sentTenthsA: beforeTenthsA,
      sentAtMs: sentBeforeAtMs,
      leasedUntilMs: leasedBeforeUntilMs,
      stored,
    } = granted;
    const { hb = 0, boot, receivedAtMs } = connector.telemetry;
    const grantable = this.#grantableTenthsA(connector);
    const isCapped = !isLockFloor && wantedTenthsA > grantable;
    const isBelowLeast = isCapped && grantable < account.leastTenthsA;
    // A lock keeps its minimum when a lease that was cut has ended.
    const isFloorKept =
      isLockFloor || (isBelowLeast && isFloorOwed(connector) && this.#isFloorDue(connector));
    let limitTenthsA = isCapped ? grantable : wantedTenthsA;
    if (isBelowLeast) limitTenthsA = isFloorKept ? account.leastTenthsA : 0;
    const wantedThen = thenTenthsAOf(connector);
    // A higher fail-safe waits for the disk. A grant that can do without the disk does not raise the fail-safe.
    const isOnMorePhases = account.usedPhases > stored.phases;
    const isLower = limitTenthsA < (beforeTenthsA ?? 0) && !isOnMorePhases;
    const isPlain = nowMs < granted.storesAgainAtMs || isLower;
    const beside = { ledger: this.#ledger, beyond: this.#beyondGrants, roomW: this.#raisesToW };
    const mostThen = Math.max(limitTenthsA, Math.min(grantable, mostThenOf(account, wantedThen, beside)));
    const mostThenNow = Math.min(mostThen, isPlain ? stored.thenTenthsA : mostThen);
    const fittingThen = Math.min(wantedThen, mostThenNow, this.#mostThenAheadTenthsA(connector));
    // A charger accepts no `thenA` between 0 and its lowest limit.
    const thenTenthsA = fittingThen < account.leastTenthsA ? 0 : fittingThen;
    const { reason } = connector.decided;
    // A grant that leaves at once lasts no longer than the lease on disk.
    const dueTtlMs = this.#ttlMsFor(connector, limitTenthsA, thenTenthsA);
    const givenTtlMs = Math.min(dueTtlMs, mostTtlMs);
    const ttlMs = isPlain && stored.ttlMs > 0 ? Math.min(givenTtlMs, stored.ttlMs) : givenTtlMs;
    const isToLast = (limitTenthsA > 0 && ttlMs > stored.ttlMs) || (!isLower && isEndUnwritten(connector));
    const mustStore =
      limitTenthsA > stored.limitTenthsA ||
      thenTenthsA > stored.thenTenthsA ||
      isToLast ||
      (isOnMorePhases && Math.max(limitTenthsA, thenTenthsA) > 0);
    const outlastingBeforeW = this.#ahead.length === 0 ? NONE : this.#outlastingW(connector);
    const seq = account.grant({
      limitTenthsA,
      thenTenthsA,
      receivedAtMs,
      ttlMs: givenTtlMs,
      isLockFloor: isFloorKept,
      budgetW: this.#raisesToW,
      isWaiting: mustStore,
    });
    if (outlastingBeforeW !== NONE) this.#deductOutlasting(connector, outlastingBeforeW);
    const { limitW, thenW } = powersOf(connector, limitTenthsA, thenTenthsA);
    const epoch = this.#ownerTerm;
    const numbers = { epoch, seq, boot, ref: hb, ttlMs, limitTenthsA, limitW, thenTenthsA, thenW, reason };
    const grant: Grant = isReallocating(connector)
      ? { ...numbers, reallocated: reallocatedTo(connector) }
      : numbers;
    const isLeaseCut = dueTtlMs < ttlMsFor(connector, thenTenthsA, this.#areOrdersExpected);
    recordSent(connector, grant, isLeaseCut, nowMs);
    return { connector, grant, mustStore, beforeTenthsA, sentBeforeAtMs, leasedBeforeUntilMs };
  }
}
