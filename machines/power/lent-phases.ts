// What a car shows of the phases it uses, and who may lend the others: only a charger whose grants end with the session.

import { type ConnectorControl, createSessionKnown, isLocked } from './connector-control.js';
import type { LentTo } from './grant.js';
import type { GrantLedger } from './grant-ledger.js';
import type { MeterReading } from './meter-ledger.js';
import {
  ALL_PHASES,
  NO_CURRENT,
  type OwnPhases,
  onFirst,
  type PhaseCount,
  phasesLoaded,
} from './own-phases.js';

/** A car that uses fewer phases has shown so for this long: some begin on one and go on to more. */
const LEARNT_AFTER_MS = 15_000;
/** More than this on a phase is a car that charges; less than the other a meter's noise. */
const USED_A = 3;
const NOISE_A = 1;
/** A lease that ends this long before it should, by a clock that is right, has not ended by time. */
const EARLY_MS = 5_000;

/** Some of its phases are lent to others until its session ends: its car does not use them, or its charger switched them off. */
export function isLending({ holding }: Pick<ConnectorControl, 'holding'>): boolean {
  return holding.usedPhases < holding.phases;
}

/** Its charger was told to use fewer phases than its car would. */
export function isSwitched(control: ConnectorControl): boolean {
  return isSwitching(control) && control.holding.usedPhases < control.session.learnt;
}

/** Its charger can charge the car that is there on fewer phases than that uses, and the car bears a pause. */
export function canSwitch(control: ConnectorControl): boolean {
  const { session, spec, isStoring } = control;
  return (
    isSwitching(control) && session.learnt > 1 && spec.neverPause !== true && !isStoring && mayLend(control)
  );
}

function isSwitching({ switchesPhasesIn, boot }: ConnectorControl): boolean {
  return switchesPhasesIn !== undefined && switchesPhasesIn === boot;
}

/**
 * Folds in what a reading says of session and phases. True where who may get how much has changed by it.
 * @param heldTenthsA what its charger holds by a grant from before the start; undefined where none
 */
export function followSession(
  ledger: GrantLedger,
  control: ConnectorControl,
  reading: MeterReading,
  heldTenthsA: number | undefined,
  nowMs: number,
): boolean {
  const { session, holding } = control;
  if (reading.session !== session.id) {
    const wasLending = isLending(control);
    Object.assign(session, createSessionKnown(), { id: reading.session });
    stopLending(ledger, control);
    return goOnFromBefore(ledger, control, heldTenthsA) || wasLending;
  }
  if (isLending(control)) {
    if (!mayLend(control)) return stopLending(ledger, control);
    // Until a charger has switched, what it was promised before lets its car use more.
    const allowed = isSwitched(control) ? phasesLoaded(holding.entitled) : 1;
    const isBeyond = phasesSeen(reading, NOISE_A) > Math.max(holding.usedPhases, allowed);
    if (!isBeyond && !hasEndedEarly(control, reading, nowMs)) return false;
    barLending(ledger, control);
    // Whatever its charger says: what flows beyond what was granted counts on every phase from now on.
    if (isBeyond) ledger.widen(holding);
    return true;
  }
  return learn(ledger, control, reading, nowMs);
}

/** Its car uses other phases than it was seen to: nothing of this session is lent any more. False where nothing was. */
export function barLending(ledger: GrantLedger, control: ConnectorControl): boolean {
  if (!isLending(control)) return false;
  control.session.isBarred = true;
  return stopLending(ledger, control);
}

/** Grants are for any car, and for all phases, from here on. True where they were not before. */
export function stopLending(ledger: GrantLedger, control: ConnectorControl): boolean {
  if (control.holding.usedPhases === ALL_PHASES) return false;
  ledger.useOn(control.holding, ALL_PHASES);
  control.session.learnt = ALL_PHASES;
  // What it was told last was for fewer phases, and may have ended.
  control.sentTenthsA = undefined;
  return true;
}

/** It is locked and charges, and is to use more phases than it was told to. */
export function isToWiden(control: ConnectorControl): boolean {
  const { holding, sentPhases, sentTenthsA = 0 } = control;
  return sentTenthsA > 0 && sentPhases < holding.usedPhases && isLocked(control);
}

/** Whether the least fits on all of them within `raisableTenthsA`: until then it goes on with those that it has, and is not paused. */
export function widens(ledger: GrantLedger, control: ConnectorControl, raisableTenthsA: number): boolean {
  const { holding, sentPhases, targetTenthsA, isStoring } = control;
  if (Math.min(targetTenthsA, raisableTenthsA) >= holding.leastTenthsA && !isStoring) return true;
  ledger.useOn(holding, sentPhases);
  return false;
}

/** It said so in this start of its own, and falls back to nothing by itself that could be on other phases. */
function mayLend({ holding, spec, session, boot, endsWithSessionIn }: ConnectorControl): boolean {
  if (holding.phases === 1 || spec.dc != null || session.isBarred || holding.isWorstCase) return false;
  const fallsBackToNothing = holding.keepsThen || holding.saidFailsafeTenthsA === 0;
  return session.id !== undefined && endsWithSessionIn === boot && fallsBackToNothing;
}

function learn(
  ledger: GrantLedger,
  control: ConnectorControl,
  reading: MeterReading,
  nowMs: number,
): boolean {
  const { session, holding } = control;
  const phases = phasesSeen(reading, NOISE_A);
  // Where a phase carries hardly anything, nobody knows whether the car is about to use it.
  const isPlain = phases > 0 && phases === phasesSeen(reading, USED_A);
  // A charger that switches back to more phases has its car on fewer until it has done so.
  const isOffered = holding.ackedSeq > session.switchedSeq;
  if (!isPlain || !isOffered || phases >= holding.phases) {
    session.seen = undefined;
    return false;
  }
  if (session.seen?.phases !== phases) session.seen = { phases: phases as PhaseCount, sinceMs: nowMs };
  if (nowMs - session.seen.sinceMs < LEARNT_AFTER_MS || !mayLend(control)) return false;
  session.learnt = session.seen.phases;
  ledger.useOn(holding, session.learnt);
  return true;
}

/**
 * A charger that holds a grant of an owner before: where that one had all that was promised on fewer phases, the grant is for
 * the session that goes on.
 */
function goOnFromBefore(
  ledger: GrantLedger,
  control: ConnectorControl,
  heldTenthsA: number | undefined,
): boolean {
  const { holding, storedPhases, session, boot } = control;
  if (heldTenthsA === undefined || heldTenthsA === 0 || session.id === undefined) return false;
  if (holding.lastSeq > 0 || storedPhases >= holding.phases) return false;
  control.endsWithSessionIn = boot;
  if (!mayLend(control)) return false;
  ledger.useOn(holding, storedPhases);
  return true;
}

/**
 * On which phases its charger surely is at so much, from before the start: with a session that may be fewer than are on disk, and
 * current shows how many at least. Undefined where it names no session: then it is on all that are on disk.
 */
export function surelyOn(reading: MeterReading, tenthsA = 0): OwnPhases | undefined {
  if (reading.session === undefined) return undefined;
  const phases = phasesSeen(reading, USED_A);
  return phases === 0 ? NO_CURRENT : onFirst(tenthsA, phases as PhaseCount);
}

/** As many phases, from the first on, as the last one that carries so much; 0 where none does. */
function phasesSeen({ currentA = [] }: MeterReading, leastA: number): number {
  return currentA.findLastIndex((phaseA) => phaseA >= leastA) + 1;
}

/** Its charger took the newest grant, and says that it holds none though that should last. */
function hasEndedEarly(
  { holding, leasedUntilMs }: ConnectorControl,
  { seq }: MeterReading,
  nowMs: number,
): boolean {
  const isTaken = holding.ackedSeq === holding.lastSeq && holding.lastSeq > 0;
  return seq === 0 && isTaken && leasedUntilMs - nowMs > EARLY_MS;
}

/** A grant for some of its phases is for the session of its car alone. */
export function lentTo(control: ConnectorControl): LentTo | undefined {
  const { session, holding } = control;
  if (!isLending(control) || session.id === undefined) return undefined;
  return { session: session.id, phases: holding.usedPhases };
}
