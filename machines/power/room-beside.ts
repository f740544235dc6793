// What those leave for the others that cannot be told a limit, or have not taken a lower one: what they may draw still.
import { wattsOfTenths } from '../values/units.js';
import type { Budget } from './budget.js';
import { type ConnectorControl, isLocked } from './connector-control.js';
import { setTargets } from './connector-targets.js';
import type { Available, Switching } from './division.js';
import { heldLoadTenthsAOf, heldWOf } from './failsafes.js';
import type { Fuses } from './fuses.js';
import type { GrantLedger } from './grant-ledger.js';
import { forEachLoad } from './holding.js';
import type { PhaseCount } from './own-phases.js';

/** A charger that has not taken its newest limit after this long is told again, and others are lowered for it. */
export const TOLD_AGAIN_AFTER_MS = 2_000;
/**
 * Each that can be reached has taken a limit by then, but for hardware that needs all of its 5 s. Others are stopped for it, who
 * have 10 s to follow: so together they are within the limit in 15 s.
 */
const TAKEN_AFTER_MS = 4_800;

/** A limit, and from when on what everybody is entitled to must fit it: leases that end before do not count. */
export interface FittedLimit {
  readonly limitW: number;
  readonly fitsFromMs: number;
}

/** What there is to share: what each of the limits leaves, and each pole. */
export interface SharedRoom {
  /** That in force, and the lowest that is known to begin, where that is another. */
  readonly limits: readonly FittedLimit[];
  /** The grid operator's; infinite where it does not limit the location. */
  readonly operatorW: number;
  readonly fuses: Fuses;
}

/**
 * What everybody is entitled to must fit a limit once it begins, or once chargers had time to follow one that somebody set and nobody
 * announced, `followedByMs`: nobody has to stop for a lease that ends before that. One that is known to begin puts off none that
 * is in force.
 */
export function fittedLimitsOf(
  { limitW, isLimitOrdered, budgetW, isOrdered, bindsFromMs }: Budget,
  followedByMs: number,
  nowMs: number,
): readonly FittedLimit[] {
  const inForce = { limitW, fitsFromMs: isLimitOrdered ? Math.max(nowMs, followedByMs) : nowMs };
  if (budgetW === limitW) return [inForce];
  return [inForce, { limitW: budgetW, fitsFromMs: isOrdered ? Math.max(bindsFromMs, followedByMs) : nowMs }];
}

/**
 * What `taking` leave, by all that they may be entitled to; at least what they are due, where they are told that.
 * @param fromMs leases that end before do not count.
 */
function availableBeside(
  ledger: GrantLedger,
  taking: readonly ConnectorControl[],
  { limits, operatorW, fuses }: SharedRoom,
  fromMs = Number.NEGATIVE_INFINITY,
): Available {
  let [availableW, operatorLeavesW] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (const { limitW, fitsFromMs } of limits) {
    let takenW = 0;
    for (const { holding, targetTenthsA, untaken } of taking) {
      const dueTenthsA = untaken === undefined ? 0 : targetTenthsA;
      const dueW = wattsOfTenths(dueTenthsA, holding.milliwattsPerTenth);
      takenW += Math.max(ledger.boundWFrom(holding, Math.max(fitsFromMs, fromMs)), dueW);
    }
    availableW = Math.min(availableW, limitW - takenW);
    operatorLeavesW = Math.min(operatorLeavesW, operatorW - takenW);
  }
  const availableTenthsA = [...fuses.capacitiesTenthsA];
  for (const { holding } of taking)
    forEachLoad(holding, ledger.loadsFrom(holding, fromMs), (pole, tenthsA) => {
      availableTenthsA[pole] = (availableTenthsA[pole] ?? 0) - tenthsA;
    });
  return { availableW, operatorLeavesW, availableTenthsA };
}

/** More may be drawn than there is, and not only by leases that end in time: it has fallen lately. */
export function isOverbooked(
  ledger: GrantLedger,
  controls: readonly ConnectorControl[],
  { limits, fuses }: SharedRoom,
): boolean {
  for (const { limitW, fitsFromMs } of limits) {
    if (ledger.totalW <= limitW) continue;
    let lastingW = 0;
    for (const { holding } of controls) lastingW += ledger.boundWFrom(holding, fitsFromMs);
    if (lastingW > limitW) return true;
  }
  return ledger.loadsTenthsA.some((tenthsA, pole) => tenthsA > (fuses.capacitiesTenthsA[pole] ?? 0));
}

/** Its grant `seq` says so: where that is less than before, it counts as untaken until something as new is acknowledged. */
export function noteTold(
  control: ConnectorControl,
  {
    seq,
    limitTenthsA,
    beforeTenthsA,
  }: { seq: number; limitTenthsA: number; beforeTenthsA: number | undefined },
  nowMs: number,
): void {
  const { holding, untaken } = control;
  if (beforeTenthsA !== undefined && limitTenthsA >= beforeTenthsA) return;
  if (limitTenthsA >= holding.entitledTenthsA) control.untaken = undefined;
  else control.untaken = { seq, sinceMs: isUntaken(control) ? (untaken?.sinceMs ?? nowMs) : nowMs };
}

/** It acknowledged something newer than before: it can be reached, though it may not have taken the newest yet. */
export function noteTaken(control: ConnectorControl, nowMs: number): void {
  const { untaken, holding } = control;
  if (untaken === undefined) return;
  control.untaken = holding.ackedSeq >= untaken.seq ? undefined : { seq: untaken.seq, sinceMs: nowMs };
}

/** Those that were told less a while ago and have not taken it, as far as they may draw more still. */
export function lateAmong(controlled: readonly ConnectorControl[], nowMs: number): ConnectorControl[] {
  return controlled.filter(
    (control) => isUntaken(control) && nowMs - (control.untaken?.sinceMs ?? nowMs) >= TOLD_AGAIN_AFTER_MS,
  );
}

/** When one of them is to be told again, or counts for more, after `nowMs`; undefined where none is. */
export function nextLateAtMs(controlled: readonly ConnectorControl[], nowMs: number): number | undefined {
  let nextMs: number | undefined;
  for (const control of controlled) {
    const { untaken, sentAtMs } = control;
    if (untaken === undefined || !isUntaken(control)) continue;
    const { sinceMs } = untaken;
    for (const atMs of [
      sinceMs + TOLD_AGAIN_AFTER_MS,
      sinceMs + TAKEN_AFTER_MS,
      sentAtMs + TOLD_AGAIN_AFTER_MS,
    ])
      if (atMs > nowMs) nextMs = Math.min(nextMs ?? atMs, atMs);
  }
  return nextMs;
}

/**
 * Sets what each of `controlled` is due as if all took it; and anew for all but `late`, which have not, beside what these may draw
 * still. Phases are chosen as if all took it, and beside what those out of reach keep once their leases have ended: what is late
 * comes soon, and a lease is over before a switch has paid off.
 */
export function setTargetsBeside(
  budget: Budget,
  connectors: Record<'controlled' | 'uncontrolled' | 'late', readonly ConnectorControl[]>,
  circumstances: {
    readonly ledger: GrantLedger;
    readonly room: SharedRoom;
    readonly settleMs: number;
    /** Within which every lease has ended that is given now. */
    readonly horizonMs: number;
    readonly nowMs: number;
  },
): void {
  const { controlled, uncontrolled, late } = connectors;
  // After a start nobody has connected yet: thousands of locations decide for nobody then.
  if (controlled.length === 0) return;
  const { ledger, room, settleMs, horizonMs, nowMs } = circumstances;
  const useOn = ({ holding }: ConnectorControl, phases: PhaseCount) => ledger.useOn(holding, phases);
  const share = (among: readonly ConnectorControl[], available: Available, switching?: Switching) =>
    setTargets(among, budget, { ...available, settleMs, nowMs, switching });
  const leasesEndMs = nowMs + horizonMs;
  share(controlled, availableBeside(ledger, uncontrolled, room), {
    useOn,
    lasting: availableBeside(ledger, uncontrolled, room, leasesEndMs),
  });
  if (late.length === 0) return;
  const others = controlled.filter((control) => !late.includes(control));
  share(others, availableBesideLate(ledger, late, others, uncontrolled, room, nowMs));
}

/**
 * What `late` and `uncontrolled` leave for the others, which are due something already. As long as a late one may be only slow
 * to take its limit, nobody is stopped for it: the others have their floors at least, and locked ones what they are due.
 */
function availableBesideLate(
  ledger: GrantLedger,
  late: readonly ConnectorControl[],
  others: readonly ConnectorControl[],
  uncontrolled: readonly ConnectorControl[],
  room: SharedRoom,
  nowMs: number,
): Available {
  const isLost = ({ untaken }: ConnectorControl) => nowMs - (untaken?.sinceMs ?? nowMs) >= TAKEN_AFTER_MS;
  const besideAll = availableBeside(ledger, [...uncontrolled, ...late], room);
  const besideLost = availableBeside(ledger, [...uncontrolled, ...late.filter(isLost)], room);
  const slow = late.filter((control) => !isLost(control));
  let leftW = besideLost.availableW;
  const leftTenthsA = [...besideLost.availableTenthsA];
  for (const control of slow) {
    const { holding, targetTenthsA } = control;
    leftW -= Math.max(heldWOf(control), wattsOfTenths(targetTenthsA, holding.milliwattsPerTenth));
    loadWith(leftTenthsA, control, targetTenthsA, -1);
  }
  let keptW = 0;
  const keptLoadsTenthsA = leftTenthsA.map(() => 0);
  for (const control of others) {
    const { targetTenthsA, holding } = control;
    // Locked ones are lowered only once nobody else is left to lower.
    const keptTenthsA = isLocked(control) ? targetTenthsA : Math.min(targetTenthsA, holding.leastTenthsA);
    keptW += Math.max(heldWOf(control), wattsOfTenths(keptTenthsA, holding.milliwattsPerTenth));
    loadWith(keptLoadsTenthsA, control, keptTenthsA, 1);
  }
  const leftOrKeptW = Math.min(leftW, keptW);
  const { operatorLeavesW, availableW } = besideLost;
  return {
    availableW: Math.max(besideAll.availableW, leftOrKeptW),
    operatorLeavesW: Math.max(besideAll.operatorLeavesW, operatorLeavesW - availableW + leftOrKeptW),
    availableTenthsA: besideAll.availableTenthsA.map((tenthsA, pole) =>
      Math.max(tenthsA, Math.min(leftTenthsA[pole] ?? 0, keptLoadsTenthsA[pole] ?? 0)),
    ),
  };
}

/** What it loads its poles with at `tenthsA`, or falls back to where that is more. */
function loadWith(sumsTenthsA: number[], control: ConnectorControl, tenthsA: number, sign: 1 | -1): void {
  const loadTenthsA = Math.max(tenthsA, heldLoadTenthsAOf(control));
  for (const pole of control.holding.poles) sumsTenthsA[pole] = (sumsTenthsA[pole] ?? 0) + sign * loadTenthsA;
}

/** It may draw more still than it was told. */
function isUntaken({ untaken, holding, sentTenthsA }: ConnectorControl): boolean {
  if (untaken === undefined || sentTenthsA === undefined || holding.ackedSeq >= untaken.seq) return false;
  return holding.entitledTenthsA > sentTenthsA;
}
