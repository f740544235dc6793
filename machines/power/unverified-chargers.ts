// Limits for chargers without a verified lease. Their maxima stay reserved, but as a rule they obey.

import type { Entitlements } from '../ledger/entitlements.js';
import type { BeyondGrants, Ledger } from '../ledger/ledger.js';
import { tenthsAOf, wattsOfTenths } from '../values/units.js';
import { type Connector, floorWOf, isControlled, isLocked, isReachable } from './connector.js';
import { heldWOf } from './failsafes.js';
import { floorBesideNeedW, lastingWOf, type PowerNeed } from './shortage.js';

/** A limit leaves with every heartbeat. A charger that takes limits leaves at most this many unacknowledged. */
const LIMITS_ON_THEIR_WAY = 2;

/** The connector's maximum is reserved at any limit, and its charger is online. */
export function receivesUnverifiedLimits(connector: Connector): boolean {
  return connector.account.isWorstCase && isReachable(connector);
}

/**
 * The charger has taken its limits since it connected, and draws no more. As a rule only the proof of its lease is
 * missing. Its grants then give its possible draw (R42). If it breaks them, the limits of others make no difference.
 */
export function hasObeyed(connector: Connector): boolean {
  const { account, granted } = connector;
  const { sentTenthsA, sentFromSeq } = granted;
  return mayObey(connector) && sentTenthsA !== undefined && account.ackedSeq >= sentFromSeq;
}

/**
 * The last limit sent or the charger's reported limit, up to the possible entitlement. The report may arrive late, from
 * before the end of a lease.
 */
export function keptTenthsAOf({ granted, telemetry, account }: Connector): number {
  const reportedTenthsA = tenthsAOf(telemetry.slot.limitA ?? 0);
  return Math.max(granted.sentTenthsA ?? 0, Math.min(reportedTenthsA, account.entitledTenthsA));
}

/** Conditions for sending its minimum to an unverified charger. */
export interface CapacityForMinimum {
  /** The connector is locked, and its minimum has nothing to wait for. */
  readonly isOwedAtOnce: boolean;
  /** The minimum fits beside all power that cannot be lowered. */
  readonly doesFit: boolean;
  /** Power that is outstanding for locked connectors, W. */
  readonly owedW: number;
}

/** Conditions for each of `uncontrolled`, after the grants to `controlled`. */
export function capacityForMinimumOf(
  uncontrolled: readonly Connector[],
  controlled: readonly Connector[],
  {
    budgetW,
    need,
    ledger,
    isOwedAtOnce,
    nowMs,
  }: {
    readonly budgetW: number;
    readonly need: PowerNeed;
    readonly ledger: Ledger;
    readonly isOwedAtOnce: (connector: Connector) => boolean;
    readonly nowMs: number;
  },
): (connector: Connector) => CapacityForMinimum {
  const fitting = fittingMinima(uncontrolled, budgetW - need.lockedW - need.heldW, nowMs);
  const owedW = owedFloorsW(controlled, ledger);
  return (connector) => ({
    isOwedAtOnce: isLocked(connector) && isOwedAtOnce(connector),
    doesFit: fitting.has(connector),
    owedW,
  });
}

/**
 * True for a connector whose minimum has nothing to wait for. Two conditions must hold.
 * 1. The power that cannot be lowered, this minimum included, exceeds the budget, regardless of the connector's own
 *    fail-safe.
 * 2. No other connector still releases power, or the minimum fits beside the others' possible draw.
 */
export function owedAtOnceOf(
  controlled: readonly Connector[],
  uncontrolled: readonly Connector[],
  { budgetW, need }: { readonly budgetW: number; readonly need: PowerNeed },
  nowMs: number,
): (connector: Connector) => boolean {
  return (connector) => {
    const beside = uncontrolled.filter((each) => each !== connector);
    const isUncounted = beside.length < uncontrolled.length;
    const ownW = isUncounted ? floorWOf(connector) : floorBesideNeedW(connector, nowMs);
    if (neededW(need, beside, nowMs) + ownW <= budgetW) return false;
    const others = [...controlled.filter((each) => each !== connector), ...beside];
    const fitting = fittingMinima(uncontrolled, budgetW - need.lockedW - need.heldW, nowMs);
    if (!others.some((each) => isReleasing(each, nowMs, dueTenthsAOf(each, fitting)))) return true;
    const besideW = others.reduce((sumW, { account }) => sumW + account.awaitedW(nowMs), 0);
    return besideW + floorWOf(connector) <= budgetW;
  };
}

/**
 * Upper bound of the connector's next limit. Unverified chargers get their limits after the others. While a lock is
 * pending, they get at most their minimum. They get 0 if that does not fit beside the lock's.
 */
function dueTenthsAOf(connector: Connector, fitting: ReadonlySet<Connector>): number {
  if (isControlled(connector)) return connector.decided.targetTenthsA;
  return isLocked(connector) || fitting.has(connector) ? connector.account.leastTenthsA : 0;
}

/**
 * The connector may still draw more than its next limit, by an earlier grant. An unreachable charger counts with its
 * last grant, except for the minimum of a lock. That draw settles, or ends with its lease.
 * @param dueTenthsA next limit, if it may be below the last one
 */
export function isReleasing(
  connector: Connector,
  nowMs: number,
  dueTenthsA = connector.account.maxTenthsA,
): boolean {
  const { account } = connector;
  const isTold = isControlled(connector) || receivesUnverifiedLimits(connector);
  const ofLockTenthsA = isLocked(connector) ? account.leastTenthsA : 0;
  return account.mayDrawBeyond(isTold ? dueTenthsA : ofLockTenthsA, nowMs);
}

/** Power that cannot be lowered, W, if all chargers obey. */
function neededW({ lockedW, heldW }: PowerNeed, uncontrolled: readonly Connector[], nowMs: number): number {
  return uncontrolled.reduce((sumW, connector) => sumW + neededWOf(connector, nowMs), lockedW + heldW);
}

/**
 * Minimum power that locked connectors still lack, W. Unverified chargers leave it to them. A lock on a full fuse does
 * not count, because the reserved maxima there stay in any case.
 */
function owedFloorsW(controlled: readonly Connector[], ledger: Ledger): number {
  let owedW = 0;
  for (const connector of controlled) {
    const { account, decided, granted } = connector;
    const { leastTenthsA } = account;
    const isShort = (granted.sentTenthsA ?? 0) < leastTenthsA;
    const isOwed = isLocked(connector) && isShort && decided.targetTenthsA >= leastTenthsA;
    if (isOwed && ledger.carriableTenthsA(account) >= leastTenthsA)
      owedW += account.leastBesideW - account.boundW;
  }
  return Math.max(0, owedW);
}

/**
 * Online unverified connectors whose minimum fits into `leftW` beside the others' minima. Locked connectors are
 * deducted even if they do not fit.
 */
function fittingMinima(
  uncontrolled: readonly Connector[],
  leftW: number,
  nowMs: number,
): ReadonlySet<Connector> {
  let roomW = leftW;
  for (const connector of uncontrolled)
    if (!receivesUnverifiedLimits(connector)) roomW -= lastingWOf(connector, nowMs);
  const fitting = new Set<Connector>();
  const unverified = uncontrolled.filter(receivesUnverifiedLimits);
  for (const connector of [...unverified.filter(isLocked), ...unverified.filter((each) => !isLocked(each))]) {
    const leastW = floorWOf(connector);
    if (leastW <= roomW) fitting.add(connector);
    if (leastW <= roomW || isLocked(connector)) roomW -= leastW;
  }
  return fitting;
}

/** A location's ledger, its excess reservations for chargers that may not obey, and the upper limit of raises. */
interface Beside {
  readonly ledger: Ledger;
  readonly beyond: BeyondGrants;
  readonly roomW: number;
}

/**
 * Highest permitted `thenA` of a connector. If its maximum is reserved, the previous value applies until a higher one
 * fits. The charger may obey its limits, and the others keep their earlier limits until they have followed lower ones.
 */
export function mostThenOf(
  account: Entitlements,
  wantedTenthsA: number,
  { ledger, beyond, roomW }: Beside,
): number {
  const beforeTenthsA = account.grantedThenTenthsA;
  if (!account.isWorstCase || wantedTenthsA <= beforeTenthsA) return account.maxTenthsA;
  const isCounted = beyond.leaveOut(account);
  const othersW = ledger.totalW - account.boundW - beyond.powerW;
  const isRoom = othersW + wattsOfTenths(wantedTenthsA, account.milliwattsPerTenth) <= roomW;
  const isCarried = ledger.carriableTenthsA(account, beyond) >= wantedTenthsA;
  if (isCounted) beyond.count(account);
  return isRoom && isCarried ? account.maxTenthsA : beforeTenthsA;
}

/** The charger has not exceeded its limits and took one of the newest. Later ones may be on their way. */
function mayObey(connector: Connector): boolean {
  const { account, car } = connector;
  const isTaking = account.lastSeq - account.ackedSeq <= LIMITS_ON_THEIR_WAY;
  return isTaking && !car.compliance.isNonCompliant && receivesUnverifiedLimits(connector);
}

/** Power that the connector cannot be lowered below, W. */
function neededWOf(connector: Connector, nowMs: number): number {
  if (!mayObey(connector)) return lastingWOf(connector, nowMs);
  return isLocked(connector) ? Math.max(floorWOf(connector), heldWOf(connector)) : heldWOf(connector);
}
