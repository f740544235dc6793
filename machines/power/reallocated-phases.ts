// Learns the phases that a car uses, and reallocates the others if the charger's grants end with the session. Only this
// module writes `Session`.

import type { ReallocatedTo } from '../ledger/grant.js';
import {
  ALL_PHASES,
  NO_CURRENT,
  type OwnPhases,
  onFirst,
  type PhaseCount,
  phasesLoaded,
} from '../ledger/own-phases.js';
import type { Writable } from '../values/writable.js';
import { type Car, type Connector, createSession, isLocked, type Session } from './connector.js';
import { restartSent } from './granted.js';
import type { MeterReading } from './meter-ledger.js';

/** A car must show fewer phases for this long, because some cars start on one phase and then use more. */
const LEARNT_AFTER_MS = 15_000;
/** A current above `USED_A` shows a charging car; one below `NOISE_A` is meter noise. */
const USED_A = 3;
const NOISE_A = 1;
/** A lease that is missing this long before its end, by an accurate clock, did not end by time. */
const EARLY_MS = 5_000;

type Written = Omit<Connector, 'car'> & {
  readonly car: Omit<Car, 'session'> & { readonly session: Writable<Session> };
};

/**
 * Some phases are reallocated until the session ends: the car does not use them, or the charger has switched them off.
 */
export function isReallocating({ account }: Pick<Connector, 'account'>): boolean {
  return account.usedPhases < account.phases;
}

/** The grants use fewer phases than the car would. */
export function isSwitched(connector: Connector): boolean {
  return isSwitching(connector) && connector.account.usedPhases < connector.car.session.learnt;
}

/** The charger can charge the current car on fewer phases than the car uses, and the car tolerates a pause. */
export function canSwitch(connector: Connector): boolean {
  const { car, provisioned, granted } = connector;
  return (
    isSwitching(connector) &&
    car.session.learnt > 1 &&
    provisioned.spec.neverPause !== true &&
    !granted.isStoring &&
    mayReallocate(connector)
  );
}

function isSwitching({ telemetry: { switchesPhasesIn, boot } }: Connector): boolean {
  return switchesPhasesIn !== undefined && switchesPhasesIn === boot;
}

/**
 * Applies session and phase currents of a reading (R33). True if the division of power may change.
 * @param isFromBefore the reading continues a session of the earlier owner, as by `goesOnFromBefore`
 */
export function followSession(
  connector: Written,
  reading: MeterReading,
  isFromBefore: boolean,
  nowMs: number,
): boolean {
  const { account, car, granted } = connector;
  if (reading.session !== car.session.id) {
    const wasReallocating = isReallocating(connector);
    beginSession(connector, reading.session);
    if (!isFromBefore || !mayReallocate(connector)) return wasReallocating;
    account.useOn(granted.stored.phases);
    followReallocated(connector, reading, nowMs);
    return true;
  }
  if (!isReallocating(connector)) return learn(connector, reading, nowMs);
  return mayReallocate(connector) ? followReallocated(connector, reading, nowMs) : endReallocation(connector);
}

/** Ends the reallocation if the reading shows that the charger or its car left the grant. True if it did. */
function followReallocated(connector: Written, reading: MeterReading, nowMs: number): boolean {
  const { account } = connector;
  // A limit that has ended allows no phase any more, although no decision has released it yet.
  account.release(nowMs);
  // Until a charger has switched, earlier grants let its car use more phases.
  const allowed = isSwitched(connector) ? phasesLoaded(account.entitled) : 1;
  const isBeyond = phasesSeen(reading, NOISE_A) > Math.max(account.usedPhases, allowed);
  if (!isBeyond && !hasEndedEarly(connector, reading, nowMs)) return false;
  forbidReallocation(connector);
  // Current beyond the grants counts on every phase from now on, regardless of the charger's reports (R34).
  if (isBeyond) account.widen();
  return true;
}

/** Another session begins, or the charger restarted. New grants are for all phases. */
export function beginSession(connector: Written, id: string | undefined): void {
  endReallocation(connector);
  Object.assign(connector.car.session, createSession(), { id });
}

/**
 * The car uses phases beyond its observed ones, so no phases of this session are reallocated any more. False if none
 * were.
 */
export function forbidReallocation(connector: Written): boolean {
  if (!isReallocating(connector)) return false;
  connector.car.session.isBarred = true;
  return endReallocation(connector);
}

/** New grants are for any car on all phases. True if they were not before. */
function endReallocation(connector: Written): boolean {
  if (connector.account.usedPhases === ALL_PHASES) return false;
  connector.account.useOn(ALL_PHASES);
  connector.car.session.learnt = ALL_PHASES;
  // The last grant was for fewer phases and may have ended.
  restartSent(connector);
  return true;
}

/** The connector is locked and charging, and its target phases exceed the phases of its last grant. */
export function isToWiden(connector: Connector): boolean {
  const { account, granted } = connector;
  const { sentPhases, sentTenthsA = 0 } = granted;
  return sentTenthsA > 0 && sentPhases < account.usedPhases && isLocked(connector);
}

/**
 * The minimum fits on all target phases within `raisableTenthsA`. Otherwise the connector keeps its current phases and
 * is not paused.
 */
export function widens(connector: Connector, raisableTenthsA: number): boolean {
  const { account, granted, decided } = connector;
  const mostTenthsA = Math.min(decided.targetTenthsA, raisableTenthsA);
  if (mostTenthsA >= account.leastTenthsA && !granted.isStoring) return true;
  account.useOn(granted.sentPhases);
  return false;
}

/** The charger reported `endsWithSession` in this boot, and it has no own fail-safe that could load other phases. */
function mayReallocate({ account, provisioned, car: { session }, telemetry }: Connector): boolean {
  const { boot, endsWithSessionIn } = telemetry;
  if (account.phases === 1 || provisioned.spec.dc != null || session.isBarred || account.isWorstCase)
    return false;
  const fallsBackToNothing = account.keepsThen || account.reportedFailsafeTenthsA === 0;
  return session.id !== undefined && endsWithSessionIn === boot && fallsBackToNothing;
}

function learn(connector: Written, reading: MeterReading, nowMs: number): boolean {
  const { account } = connector;
  const { session } = connector.car;
  const phases = phasesSeen(reading, NOISE_A);
  // A phase with a current between noise and use may soon carry more.
  const isPlain = phases > 0 && phases === phasesSeen(reading, USED_A);
  // A charger that switches back to more phases keeps the car on fewer until the switch is complete.
  const isOffered = account.ackedSeq > session.switchedSeq;
  if (!isPlain || !isOffered || phases >= account.phases) {
    session.seen = undefined;
    return false;
  }
  if (session.seen?.phases !== phases) session.seen = { phases: phases as PhaseCount, sinceMs: nowMs };
  if (nowMs - session.seen.sinceMs < LEARNT_AFTER_MS || !mayReallocate(connector)) return false;
  session.learnt = session.seen.phases;
  account.useOn(session.learnt);
  return true;
}

/**
 * The reading continues a grant of the earlier owner for its session: all its grants on disk were for fewer phases.
 * @param heldTenthsA limit that the charger holds by a grant from before the service start; undefined without one
 */
export function goesOnFromBefore(connector: Connector, reading: MeterReading, heldTenthsA = 0): boolean {
  const { account, granted, car } = connector;
  if (heldTenthsA === 0 || reading.session === undefined || reading.session === car.session.id) return false;
  return account.lastSeq === 0 && granted.stored.phases < account.phases;
}

/**
 * Phases on which the charger certainly holds `tenthsA` since before the service start. With a session they may be
 * fewer than on disk; current shows the minimum. Undefined without a session: then all phases on disk apply.
 */
export function surelyOn(reading: MeterReading, tenthsA = 0): OwnPhases | undefined {
  if (reading.session === undefined) return undefined;
  const phases = phasesSeen(reading, USED_A);
  return phases === 0 ? NO_CURRENT : onFirst(tenthsA, phases as PhaseCount);
}

/** Number of phases up to the last one with at least `leastA`; 0 if none has that. */
function phasesSeen({ currentA = [] }: MeterReading, leastA: number): number {
  return currentA.findLastIndex((phaseA) => phaseA >= leastA) + 1;
}

/** The charger took the newest grant and now reports none, although the lease should still last. */
function hasEndedEarly({ account, granted }: Connector, { seq }: MeterReading, nowMs: number): boolean {
  const isTaken = account.ackedSeq === account.lastSeq && account.lastSeq > 0;
  return seq === 0 && isTaken && granted.leasedUntilMs - nowMs > EARLY_MS;
}

/** A grant for some of its phases is for the car's session only. */
export function reallocatedTo(connector: Connector): ReallocatedTo | undefined {
  const { id } = connector.car.session;
  if (!isReallocating(connector) || id === undefined) return undefined;
  return { session: id, phases: connector.account.usedPhases };
}

// Selects the phase count of cars at chargers that switch phases: one phase instead of a pause, all phases if that
// serves more.

/**
 * Shortest interval between two switches of a charging car: a switch stops the car for a moment and wears the
 * contactor.
 */
const SWITCHED_APART_MS = 10 * 60_000;
/** Interval between switches of different charging cars, so that the others go on meanwhile. */
const ONE_AFTER_ANOTHER_MS = 30_000;
/** More phases must be better for this long. Otherwise short-lived capacity would switch all cars back and forth. */
const WORTH_FOR_MS = 60_000;
/** A larger gain of power is worth a switch, W. */
const WORTH_W = 1_000;
/** Shares differ only above this difference, W, because limits in whole tenths of an ampere leave small remainders. */
const DIFFERENT_W = 200;

/** Result of a division. */
export interface Served {
  /** Sum of all shares. */
  readonly servedW: number;
  /** Number of cars that want to charge but get nothing. */
  readonly paused: number;
  /** The lowest share of an unlocked car. */
  readonly leastW: number;
}

export interface PhaseChoice {
  /** If false, some car is paused unless fewer phases are used. */
  readonly doFloorsFit: boolean;
  /** The connector is locked or about to be locked, so it keeps all phases. */
  isLocked(connector: Written): boolean;
  /** New grants to the connector are for this many phases. */
  useOn(connector: Written, phases: PhaseCount): void;
  /** Result with the current phases, after the leases of uncontrolled connectors have ended. */
  serve(): Served;
  /** The same while these leases still last. */
  serveNow(): Served;
  readonly nowMs: number;
}

/**
 * Switches connectors to the phases that serve the most power. A lease that ends by itself is no reason for one phase,
 * because it ends before a switch pays off. A switch to more phases does await its end. Among equal results, the one
 * with fewest paused cars applies, then the one with the highest lowest share. A tie changes nothing.
 */
export function choosePhases(connectors: readonly Written[], choice: PhaseChoice): void {
  const { doFloorsFit, isLocked, nowMs } = choice;
  const able = connectors.filter((connector) => canSwitch(connector) && connector.car.demand.hasCar);
  const free = able.filter((connector) => !isLocked(connector));
  // A grant from before the service start is renewed before any switch.
  const isTold = ({ account }: Written) => account.lastSeq > 0;
  for (const connector of able)
    if (isLocked(connector) && isTold(connector)) switchTo(connector, connector.car.session.learnt, choice);
  if (doFloorsFit && !free.some(isSwitched)) {
    for (const { car } of free) car.session.worthFewerSinceMs = undefined;
    return;
  }
  const rested = free.filter((connector) => nowMs - connector.car.session.switchedAtMs >= SWITCHED_APART_MS);
  const onMore = (connector: Written) => !isSwitched(connector) && connector.account.usedPhases > 1;
  const stopped = free.filter((connector) => onMore(connector) && !isCharging(connector));
  const wider: Way = { connectors: rested.filter(isSwitched), phasesOf: ({ car }) => car.session.learnt };
  const toOne = (connectors: readonly Written[]): Way => ({ connectors, phasesOf: () => 1 });
  const all = [...stopped, ...rested.filter((each) => onMore(each) && isCharging(each))];
  const best = bestOf([toOne(stopped), toOne(all), wider], choice);
  const isWider = best?.way === wider && isWorthNow(wider, choice);
  const isFewer = best !== undefined && best.way !== wider;
  for (const { car } of free) {
    const { session } = car;
    session.worthMoreSinceMs = isWider ? (session.worthMoreSinceMs ?? nowMs) : undefined;
    session.worthFewerSinceMs = isFewer ? (session.worthFewerSinceMs ?? nowMs) : undefined;
  }
  const isDue = ({ car: { session } }: Written) => {
    if (isWider) return nowMs - (session.worthMoreSinceMs ?? nowMs) >= WORTH_FOR_MS;
    const isAtOnce = (best?.gainW ?? 0) >= WORTH_W;
    return isAtOnce || nowMs - (session.worthFewerSinceMs ?? nowMs) >= SWITCHED_APART_MS;
  };
  if (isWider || isFewer)
    follow({ ...best.way, connectors: best.way.connectors.filter(isDue) }, free, choice);
}

/** Next time at which a switch may become possible; infinite if none is outstanding. */
export function nextSwitchAtMs(connector: Connector, nowMs: number): number {
  let nextMs = Number.POSITIVE_INFINITY;
  if (!canSwitch(connector)) return nextMs;
  const never = Number.NEGATIVE_INFINITY;
  const { switchedAtMs, worthMoreSinceMs = never, worthFewerSinceMs = never } = connector.car.session;
  for (const atMs of [
    worthFewerSinceMs + SWITCHED_APART_MS,
    switchedAtMs + ONE_AFTER_ANOTHER_MS,
    switchedAtMs + SWITCHED_APART_MS,
    worthMoreSinceMs + WORTH_FOR_MS,
  ])
    if (atMs > nowMs) nextMs = Math.min(nextMs, atMs);
  return nextMs;
}

/** Candidate: other phase counts for some connectors. */
interface Way {
  readonly connectors: readonly Written[];
  phasesOf(connector: Written): PhaseCount;
}

/** The best candidate with its gain in W; undefined if none is better than the current phases. */
function bestOf(every: readonly Way[], choice: PhaseChoice) {
  const ways = every.filter(({ connectors }) => connectors.length > 0);
  if (ways.length === 0) return undefined;
  const now = choice.serve();
  let best: { readonly way: Way; readonly gainW: number } | undefined;
  let most = now;
  for (const way of ways) {
    const served = servedBy(way, choice);
    if (!isBetter(served, most)) continue;
    best = { way, gainW: served.servedW - now.servedW };
    most = served;
  }
  return best;
}

function isWorthNow(way: Way, choice: PhaseChoice): boolean {
  const { useOn, serveNow } = choice;
  return isBetter(servedBy(way, { useOn, serve: serveNow }), serveNow());
}

function servedBy(
  { connectors, phasesOf }: Way,
  { useOn, serve }: Pick<PhaseChoice, 'useOn' | 'serve'>,
): Served {
  const before = connectors.map(({ account }) => account.usedPhases);
  for (const connector of connectors) useOn(connector, phasesOf(connector));
  const served = serve();
  for (const [i, connector] of connectors.entries()) useOn(connector, before[i] ?? 1);
  return served;
}

function isBetter(next: Served, than: Served): boolean {
  if (next.servedW >= than.servedW + WORTH_W) return true;
  if (next.servedW < than.servedW - DIFFERENT_W) return false;
  if (next.paused !== than.paused) return next.paused < than.paused;
  return next.leastW > than.leastW + DIFFERENT_W;
}

/** Switches all connectors without current, and one of the charging ones. */
function follow({ connectors, phasesOf }: Way, free: readonly Written[], choice: PhaseChoice): void {
  const { nowMs } = choice;
  const isSomebodyStopped = free.some(({ car }) => nowMs - car.session.switchedAtMs < ONE_AFTER_ANOTHER_MS);
  const charging = connectors.filter(isCharging);
  const [first] = isSomebodyStopped ? [] : charging;
  for (const connector of connectors)
    if (connector === first || !isCharging(connector)) switchTo(connector, phasesOf(connector), choice);
}

function switchTo(connector: Written, phases: PhaseCount, { useOn, nowMs }: PhaseChoice): void {
  if (connector.account.usedPhases === phases) return;
  useOn(connector, phases);
  connector.car.session.switchedAtMs = nowMs;
  connector.car.session.switchedSeq = connector.account.lastSeq;
}

function isCharging({ granted }: Written): boolean {
  return (granted.sentTenthsA ?? 0) > 0;
}
