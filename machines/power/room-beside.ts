// Capacity beside connectors that receive no limit or have not taken a lower one, by their possible draw.
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

/** A charger that has not taken its newest limit after this long receives it again. Others are lowered for it. */
export const TOLD_AGAIN_AFTER_MS = 2_000;
/**
 * By this time each reachable charger has taken a limit, except for hardware that needs its full 5 s. Others are then
 * stopped in its place and have 10 s to follow. So the total is within the limit after 15 s.
 */
const TAKEN_AFTER_MS = 4_800;

/** A limit, and the time from which all entitlements must fit it. Leases that end before that do not count. */
export interface FittedLimit {
  readonly limitW: number;
  readonly fitsFromMs: number;
}

/** Capacity to share below each limit and on each circuit phase. */
export interface SharedRoom {
  /** The limit in force, and the lowest one known to begin, if it differs. */
  readonly limits: readonly FittedLimit[];
  /** The grid operator's limit; infinite without one. */
  readonly operatorW: number;
  readonly fuses: Fuses;
}

/**
 * All entitlements must fit a limit from its start. An unannounced order allows time until `followedByMs`, so no car
 * stops for a lease that ends before that. A limit that begins later never delays one that is in force.
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
 * Capacity beside `taking`, by their possible entitlements. A connector with an untaken lower limit counts at least
 * with its target.
 * @param fromMs leases that end before this time do not count
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

/** Entitlements exceed the capacity, and not only by leases that end in time: the capacity fell recently. */
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

/**
 * Records the limit of grant `seq`. A decrease counts as untaken until the charger acknowledges that grant or a newer
 * one.
 */
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

/** The charger acknowledged a newer grant than before, so it is reachable. It may not have taken the newest yet. */
export function noteTaken(control: ConnectorControl, nowMs: number): void {
  const { untaken, holding } = control;
  if (untaken === undefined) return;
  control.untaken = holding.ackedSeq >= untaken.seq ? undefined : { seq: untaken.seq, sinceMs: nowMs };
}

/** Connectors that have not taken a lower limit in time, and may still draw more. */
export function lateAmong(controlled: readonly ConnectorControl[], nowMs: number): ConnectorControl[] {
  return controlled.filter(
    (control) => isUntaken(control) && nowMs - (control.untaken?.sinceMs ?? nowMs) >= TOLD_AGAIN_AFTER_MS,
  );
}

/** Next time after `nowMs` at which a limit is repeated or counts for more; undefined if none is outstanding. */
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
 * Sets the targets of `controlled` on the assumption that all take them. It then sets them again for all but `late`,
 * beside the possible draw of these. The choice of phases assumes that all take their limits and that the leases of
 * unreachable chargers have ended. A late charger follows soon, and a lease ends before a switch pays off.
 */
export function setTargetsBeside(
  budget: Budget,
  connectors: Record<'controlled' | 'uncontrolled' | 'late', readonly ConnectorControl[]>,
  circumstances: {
    readonly ledger: GrantLedger;
    readonly room: SharedRoom;
    readonly settleMs: number;
    /** Time until every lease granted now has ended, ms. */
    readonly horizonMs: number;
    readonly nowMs: number;
  },
): void {
  const { controlled, uncontrolled, late } = connectors;
  // After a start no charger is connected yet, and thousands of locations need no decision.
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
 * Capacity beside `late` and `uncontrolled` for the others, which have targets already. While a late charger may only
 * be slow, no car stops for it. The others keep at least their floors, and locked ones their targets.
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
    // Locked connectors are lowered only after all others.
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

/** Adds the connector's load at `tenthsA` to its circuit phases; its fail-safe load if that is more. */
function loadWith(sumsTenthsA: number[], control: ConnectorControl, tenthsA: number, sign: 1 | -1): void {
  const loadTenthsA = Math.max(tenthsA, heldLoadTenthsAOf(control));
  for (const pole of control.holding.poles) sumsTenthsA[pole] = (sumsTenthsA[pole] ?? 0) + sign * loadTenthsA;
}

/** The connector may still draw more than the limit sent. */
function isUntaken({ untaken, holding, sentTenthsA }: ConnectorControl): boolean {
  if (untaken === undefined || sentTenthsA === undefined || holding.ackedSeq >= untaken.seq) return false;
  return holding.entitledTenthsA > sentTenthsA;
}
