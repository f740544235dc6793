// Capacity beside connectors that receive no limit or have not taken a lower one, by their possible draw.

import type { Ledger } from '../ledger/ledger.js';
import type { PhaseCount } from '../ledger/own-phases.js';
import { wattsOfTenths } from '../values/units.js';
import type { Budget } from './budget.js';
import { type Connector, isLocked } from './connector.js';
import { type Available, type Switching, setTargets } from './connector-targets.js';
import { heldLoadTenthsAOf, heldWOf } from './failsafes.js';
import type { Fuses } from './fuses.js';
import { isUntaken, REPEAT_AFTER_MS } from './granted.js';

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
export interface SharedCapacity {
  /** The limit in force, and the lowest one known to begin, if it differs. */
  readonly limits: readonly FittedLimit[];
  /** The lowest limit that may pause locked connectors; infinite without one. */
  readonly pausingW: number;
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
  taking: readonly Connector[],
  { limits, pausingW, fuses }: SharedCapacity,
  fromMs = Number.NEGATIVE_INFINITY,
): Available {
  let [availableW, pausingLeavesW] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (const { limitW, fitsFromMs } of limits) {
    let takenW = 0;
    for (const { account, decided, granted } of taking) {
      const dueTenthsA = granted.untaken === undefined ? 0 : decided.targetTenthsA;
      const dueW = wattsOfTenths(dueTenthsA, account.milliwattsPerTenth);
      takenW += Math.max(account.boundWFrom(Math.max(fitsFromMs, fromMs)), dueW);
    }
    availableW = Math.min(availableW, limitW - takenW);
    pausingLeavesW = Math.min(pausingLeavesW, pausingW - takenW);
  }
  const availableTenthsA = [...fuses.capacitiesTenthsA];
  for (const { account } of taking) {
    const loads = account.loadsFrom(fromMs);
    for (const { circuitPhase, phase } of account.allCircuitPhases)
      availableTenthsA[circuitPhase] = (availableTenthsA[circuitPhase] ?? 0) - (loads[phase] ?? 0);
  }
  return { availableW, pausingLeavesW, availableTenthsA };
}

/** Entitlements exceed the capacity, and not only by leases that end in time: the capacity fell recently. */
export function isOverbooked(
  ledger: Ledger,
  connectors: readonly Connector[],
  { limits, fuses }: SharedCapacity,
): boolean {
  for (const { limitW, fitsFromMs } of limits) {
    if (ledger.totalW <= limitW) continue;
    let lastingW = 0;
    for (const { account } of connectors) lastingW += account.boundWFrom(fitsFromMs);
    if (lastingW > limitW) return true;
  }
  return ledger.loadsTenthsA.some(
    (tenthsA, circuitPhase) => tenthsA > (fuses.capacitiesTenthsA[circuitPhase] ?? 0),
  );
}

/** Connectors that have not taken a lower limit in time, and may still draw more (R48). */
export function lateAmong(controlled: readonly Connector[], nowMs: number): Connector[] {
  return controlled.filter(
    (connector) =>
      isUntaken(connector) && nowMs - (connector.granted.untaken?.sinceMs ?? nowMs) >= REPEAT_AFTER_MS,
  );
}

/** Next time after `nowMs` at which the limit is repeated or counts for more; infinite if it is not outstanding. */
export function nextLateAtMs(connector: Connector, nowMs: number): number {
  const { untaken, sentAtMs } = connector.granted;
  let nextMs = Number.POSITIVE_INFINITY;
  if (untaken === undefined || !isUntaken(connector)) return nextMs;
  const { sinceMs } = untaken;
  for (const atMs of [sinceMs + REPEAT_AFTER_MS, sinceMs + TAKEN_AFTER_MS, sentAtMs + REPEAT_AFTER_MS])
    if (atMs > nowMs) nextMs = Math.min(nextMs, atMs);
  return nextMs;
}

/**
 * Sets the targets of `controlled` on the assumption that all take them. It then sets them again for all but `late`,
 * beside the possible draw of these. The choice of phases assumes that all take their limits and that the leases of
 * unreachable chargers have ended. A late charger follows soon, and a lease ends before a switch pays off.
 */
export function setTargetsBeside(
  budget: Budget,
  connectors: Record<'controlled' | 'uncontrolled' | 'late', readonly Connector[]>,
  circumstances: {
    readonly room: SharedCapacity;
    readonly settleMs: number;
    /** Time until every lease granted now has ended, ms. */
    readonly horizonMs: number;
    readonly nowMs: number;
  },
): void {
  const { controlled, uncontrolled, late } = connectors;
  // After a start no charger is connected yet, and thousands of locations need no decision.
  if (controlled.length === 0) return;
  const { room, settleMs, horizonMs, nowMs } = circumstances;
  const useOn = ({ account }: Connector, phases: PhaseCount) => account.useOn(phases);
  const share = (among: readonly Connector[], available: Available, switching?: Switching) => {
    const { availableW, availableTenthsA, pausingLeavesW } = available;
    setTargets(among, budget, { availableW, availableTenthsA, pausingLeavesW, settleMs, nowMs, switching });
  };
  const leasesEndMs = nowMs + horizonMs;
  share(controlled, availableBeside(uncontrolled, room), {
    useOn,
    lasting: availableBeside(uncontrolled, room, leasesEndMs),
  });
  if (late.length === 0) return;
  const others = controlled.filter((connector) => !late.includes(connector));
  share(others, availableBesideLate(late, others, uncontrolled, room, nowMs));
}

/**
 * Capacity beside `late` and `uncontrolled` for the others, which have targets already. While a late charger may only
 * be slow, no car stops for it. The others keep at least their floors, and locked ones their targets.
 */
function availableBesideLate(
  late: readonly Connector[],
  others: readonly Connector[],
  uncontrolled: readonly Connector[],
  room: SharedCapacity,
  nowMs: number,
): Available {
  const isLost = ({ granted }: Connector) => nowMs - (granted.untaken?.sinceMs ?? nowMs) >= TAKEN_AFTER_MS;
  const besideAll = availableBeside([...uncontrolled, ...late], room);
  const besideLost = availableBeside([...uncontrolled, ...late.filter(isLost)], room);
  const slow = late.filter((connector) => !isLost(connector));
  let leftW = besideLost.availableW;
  const leftTenthsA = [...besideLost.availableTenthsA];
  for (const connector of slow) {
    const { targetTenthsA } = connector.decided;
    leftW -= Math.max(heldWOf(connector), wattsOfTenths(targetTenthsA, connector.account.milliwattsPerTenth));
    loadWith(leftTenthsA, connector, targetTenthsA, -1);
  }
  let keptW = 0;
  const keptLoadsTenthsA = leftTenthsA.map(() => 0);
  for (const connector of others) {
    const { account, decided } = connector;
    const { targetTenthsA } = decided;
    // Locked connectors are lowered only after all others.
    const keptTenthsA = isLocked(connector) ? targetTenthsA : Math.min(targetTenthsA, account.leastTenthsA);
    keptW += Math.max(heldWOf(connector), wattsOfTenths(keptTenthsA, account.milliwattsPerTenth));
    loadWith(keptLoadsTenthsA, connector, keptTenthsA, 1);
  }
  const leftOrKeptW = Math.min(leftW, keptW);
  const { pausingLeavesW, availableW } = besideLost;
  return {
    availableW: Math.max(besideAll.availableW, leftOrKeptW),
    pausingLeavesW: Math.max(besideAll.pausingLeavesW, pausingLeavesW - availableW + leftOrKeptW),
    availableTenthsA: besideAll.availableTenthsA.map((tenthsA, circuitPhase) =>
      Math.max(tenthsA, Math.min(leftTenthsA[circuitPhase] ?? 0, keptLoadsTenthsA[circuitPhase] ?? 0)),
    ),
  };
}

/** Adds the connector's load at `tenthsA` to its circuit phases; its fail-safe load if that is more. */
function loadWith(sumsTenthsA: number[], connector: Connector, tenthsA: number, sign: 1 | -1): void {
  const loadTenthsA = Math.max(tenthsA, heldLoadTenthsAOf(connector));
  for (const circuitPhase of connector.account.circuitPhases)
    sumsTenthsA[circuitPhase] = (sumsTenthsA[circuitPhase] ?? 0) + sign * loadTenthsA;
}
