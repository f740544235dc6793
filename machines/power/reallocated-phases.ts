// Learns the phases that a car uses, and reallocates the others if the charger's grants end with the session. Sole
// writer of `Session`.

import type { Writable } from '../values/writable.js';
import {
  type Car,
  type ConnectorControl,
  createSession,
  isLocked,
  type Session,
} from './connector-control.js';
import type { ReallocatedTo } from './grant.js';
import { restartSent } from './granted.js';
import type { MeterReading } from './meter-ledger.js';
import {
  ALL_PHASES,
  NO_CURRENT,
  type OwnPhases,
  onFirst,
  type PhaseCount,
  phasesLoaded,
} from './own-phases.js';

/** A car must show fewer phases for this long, because some cars start on one phase and then use more. */
const LEARNT_AFTER_MS = 15_000;
/** A current above `USED_A` shows a charging car; one below `NOISE_A` is meter noise. */
const USED_A = 3;
const NOISE_A = 1;
/** A lease that is missing this long before its end, by an accurate clock, did not end by time. */
const EARLY_MS = 5_000;

interface Written extends Omit<ConnectorControl, 'car'> {
  readonly car: Omit<Car, 'session'> & { readonly session: Writable<Session> };
}

/**
 * Some phases are reallocated until the session ends: the car does not use them, or the charger has switched them off.
 */
export function isReallocating({ account }: Pick<ConnectorControl, 'account'>): boolean {
  return account.usedPhases < account.phases;
}

/** The grants use fewer phases than the car would. */
export function isSwitched(control: ConnectorControl): boolean {
  return isSwitching(control) && control.account.usedPhases < control.car.session.learnt;
}

/** The charger can charge the current car on fewer phases than the car uses, and the car tolerates a pause. */
export function canSwitch(control: ConnectorControl): boolean {
  const { car, provisioned, granted } = control;
  return (
    isSwitching(control) &&
    car.session.learnt > 1 &&
    provisioned.spec.neverPause !== true &&
    !granted.isStoring &&
    mayReallocate(control)
  );
}

function isSwitching({ telemetry: { switchesPhasesIn, boot } }: ConnectorControl): boolean {
  return switchesPhasesIn !== undefined && switchesPhasesIn === boot;
}

/**
 * Applies session and phase currents of a reading. True if the division of power may change.
 * @param isFromBefore the reading continues a session of the earlier owner, as by `goesOnFromBefore`
 */
export function followSession(
  control: Written,
  reading: MeterReading,
  isFromBefore: boolean,
  nowMs: number,
): boolean {
  const { account, car, granted } = control;
  if (reading.session !== car.session.id) {
    const wasReallocating = isReallocating(control);
    beginSession(control, reading.session);
    if (!isFromBefore || !mayReallocate(control)) return wasReallocating;
    account.useOn(granted.storedPhases);
    return true;
  }
  if (isReallocating(control)) {
    if (!mayReallocate(control)) return endReallocation(control);
    // Until a charger has switched, earlier grants let its car use more phases.
    const allowed = isSwitched(control) ? phasesLoaded(account.entitled) : 1;
    const isBeyond = phasesSeen(reading, NOISE_A) > Math.max(account.usedPhases, allowed);
    if (!isBeyond && !hasEndedEarly(control, reading, nowMs)) return false;
    forbidReallocation(control);
    // Current beyond the grants counts on every phase from now on, regardless of the charger's reports.
    if (isBeyond) account.widen();
    return true;
  }
  return learn(control, reading, nowMs);
}

/** Another session begins, or the charger restarted. New grants are for all phases. */
export function beginSession(control: Written, id: string | undefined): void {
  endReallocation(control);
  Object.assign(control.car.session, createSession(), { id });
}

/**
 * The car uses phases beyond its observed ones, so no phases of this session are reallocated any more. False if none
 * were.
 */
export function forbidReallocation(control: Written): boolean {
  if (!isReallocating(control)) return false;
  control.car.session.isBarred = true;
  return endReallocation(control);
}

/** New grants are for any car on all phases. True if they were not before. */
function endReallocation(control: Written): boolean {
  if (control.account.usedPhases === ALL_PHASES) return false;
  control.account.useOn(ALL_PHASES);
  control.car.session.learnt = ALL_PHASES;
  // The last grant was for fewer phases and may have ended.
  restartSent(control);
  return true;
}

/** The connector is locked and charging, and its target phases exceed the phases of its last grant. */
export function isToWiden(control: ConnectorControl): boolean {
  const { account, granted } = control;
  const { sentPhases, sentTenthsA = 0 } = granted;
  return sentTenthsA > 0 && sentPhases < account.usedPhases && isLocked(control);
}

/**
 * The minimum fits on all target phases within `raisableTenthsA`. Otherwise the connector keeps its current phases and
 * is not paused.
 */
export function widens(control: ConnectorControl, raisableTenthsA: number): boolean {
  const { account, granted, decided } = control;
  const mostTenthsA = Math.min(decided.targetTenthsA, raisableTenthsA);
  if (mostTenthsA >= account.leastTenthsA && !granted.isStoring) return true;
  account.useOn(granted.sentPhases);
  return false;
}

/** The charger reported `endsWithSession` in this boot, and it has no own fail-safe that could load other phases. */
function mayReallocate({ account, provisioned, car: { session }, telemetry }: ConnectorControl): boolean {
  const { boot, endsWithSessionIn } = telemetry;
  if (account.phases === 1 || provisioned.spec.dc != null || session.isBarred || account.isWorstCase)
    return false;
  const fallsBackToNothing = account.keepsThen || account.reportedFailsafeTenthsA === 0;
  return session.id !== undefined && endsWithSessionIn === boot && fallsBackToNothing;
}

function learn(control: Written, reading: MeterReading, nowMs: number): boolean {
  const { account } = control;
  const { session } = control.car;
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
  if (nowMs - session.seen.sinceMs < LEARNT_AFTER_MS || !mayReallocate(control)) return false;
  session.learnt = session.seen.phases;
  account.useOn(session.learnt);
  return true;
}

/**
 * The reading continues a grant of the earlier owner for its session: all its grants on disk were for fewer phases.
 * @param heldTenthsA limit that the charger holds by a grant from before the service start; undefined without one
 */
export function goesOnFromBefore(
  { account, granted, car }: ConnectorControl,
  { session }: MeterReading,
  heldTenthsA = 0,
): boolean {
  if (heldTenthsA === 0 || session === undefined || session === car.session.id) return false;
  return account.lastSeq === 0 && granted.storedPhases < account.phases;
}

/** Records a switch to another phase count. */
export function recordSwitch({ car, account }: Written, nowMs: number): void {
  car.session.switchedAtMs = nowMs;
  car.session.switchedSeq = account.lastSeq;
}

/** Records since when more phases, or fewer, would serve more power. */
export function recordWorth(
  { car: { session } }: Written,
  since: 'worthMoreSinceMs' | 'worthFewerSinceMs',
  isWorth: boolean,
  nowMs: number,
): void {
  session[since] = isWorth ? (session[since] ?? nowMs) : undefined;
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
function hasEndedEarly(
  { account, granted }: ConnectorControl,
  { seq }: MeterReading,
  nowMs: number,
): boolean {
  const isTaken = account.ackedSeq === account.lastSeq && account.lastSeq > 0;
  return seq === 0 && isTaken && granted.leasedUntilMs - nowMs > EARLY_MS;
}

/** A grant for some of its phases is for the car's session only. */
export function reallocatedTo(control: ConnectorControl): ReallocatedTo | undefined {
  const { account } = control;
  const { session } = control.car;
  if (!isReallocating(control) || session.id === undefined) return undefined;
  return { session: session.id, phases: account.usedPhases };
}
