// How much a car could make use of, learnt from what it draws, so that what a full battery leaves goes to others.

import { MINIMUM_TENTHS_A } from '../values/units.js';
import type { ChargingStatus } from './meter-ledger.js';

/**
 * A car that draws clearly less than it may for this long is lowered to what it draws and a step more: 30 s, as four
 * heartbeats 10 s apart measure it that come a little early or late.
 */
const LOWER_AFTER_MS = 28_000;
/** A step above what it draws: enough that it would be seen to want more, and never less than this. */
const STEP_TENTHS_A = 10;
/** Drawing this share of its limit, a car wants more. */
const WANTING = 0.9;
/** Less than this is not charging. */
const RESTING_TENTHS_A = 10;
/** A paused car that did not charge when it could is believed to want to again after this long. */
const RESTED_AFTER_MS = 30 * 60_000;
/** Each time it does not, it is asked half as often, down to this: a full battery is not to take turns from others. */
const RESTED_AT_MOST_MS = 4 * RESTED_AFTER_MS;

/**
 * A car that is found paused by an owner before this one stays so for this long: it may be full, and trying all of those at
 * once would take from the others what they have.
 */
const PAUSED_BEFORE_MS = 5 * 60_000;

/** Words of a charger that has no car to serve. */
const WITHOUT_CAR: ReadonlySet<ChargingStatus> = new Set([
  'Available',
  'Finishing',
  'Faulted',
  'Unavailable',
]);

/** It drew `tenthsA`, or a little later less, until `untilMs`. */
interface Peak {
  readonly tenthsA: number;
  readonly fromMs: number;
  untilMs: number;
}

/** What is drawn less so shortly after a peak counts as the peak: so a dozen of them span 30 s. */
const PEAKS_APART_MS = 2_500;

/** What is believed of one connector's car. Currents in tenths of an ampere per phase. */
export interface Demand {
  /** A car is there, or may be: a charger that does not say is taken to have one. */
  hasCar: boolean;
  arrivedAtMs: number;
  /** The most it could use. */
  mostTenthsA: number;
  /** It could charge and does not: others go first. */
  isResting: boolean;
  /** It is taken to rest because an owner before this one left it paused, and for no other reason. */
  isFoundPaused: boolean;
  /** It has charged since it came or was paused last. */
  hasCharged: boolean;
  /** For how long it has charged since it came. */
  chargedMs: number;
  heardAtMs: number;
  /** Since when it has drawn clearly less than it may; undefined while it does not. */
  belowSinceMs: number | undefined;
  /** What it drew since then, as far as that counts: larger ones before smaller ones. */
  readonly peaks: Peak[];
  restingSinceMs: number;
  /** How long it rests, where it is paused, before it is believed to want to charge again. */
  restsForMs: number;
}

/** One reading as demand sees it. `limitTenthsA` is what the charger is held to now. */
export interface DrawnReading {
  readonly status: ChargingStatus | undefined;
  readonly drawnTenthsA: number;
  readonly limitTenthsA: number;
  /** The least it can be offered: 6 A where it is left out. */
  readonly leastTenthsA?: number;
  readonly maxTenthsA: number;
  /** What it holds by a grant from before the service started; undefined where nothing. */
  readonly heldTenthsA?: number | undefined;
}

/** Nothing is known of the car yet: it may want all there is. */
export function createDemand(maxTenthsA: number): Demand {
  return {
    hasCar: false,
    arrivedAtMs: 0,
    mostTenthsA: maxTenthsA,
    isResting: false,
    isFoundPaused: false,
    hasCharged: false,
    chargedMs: 0,
    heardAtMs: 0,
    belowSinceMs: undefined,
    peaks: [],
    restingSinceMs: 0,
    restsForMs: 0,
  };
}

/** Its car went, though nothing was heard of a time without one: the one that is there has just come. */
export function forgetCar(demand: Demand): void {
  demand.hasCar = false;
}

/** Folds a reading in, on a monotonic clock in ms; true where who gets how much may change by it. */
export function foldDemand(demand: Demand, reading: DrawnReading, nowMs: number): boolean {
  const { status, drawnTenthsA, limitTenthsA, maxTenthsA, leastTenthsA = MINIMUM_TENTHS_A } = reading;
  const hasCar = status === undefined || !WITHOUT_CAR.has(status);
  if (hasCar !== demand.hasCar) {
    // A car that just came is judged by its next readings.
    Object.assign(demand, createDemand(maxTenthsA), { hasCar, arrivedAtMs: nowMs, heardAtMs: nowMs });
    if (hasCar) takeOver(demand, reading, nowMs);
    return true;
  }
  if (!hasCar) return false;
  if (drawnTenthsA >= RESTING_TENTHS_A) demand.chargedMs += nowMs - demand.heardAtMs;
  demand.heardAtMs = nowMs;
  if (limitTenthsA < leastTenthsA) {
    demand.belowSinceMs = undefined;
    demand.hasCharged = false;
    return stopResting(demand, nowMs - demand.restingSinceMs >= demand.restsForMs);
  }
  if (drawnTenthsA >= RESTING_TENTHS_A) {
    demand.restsForMs = 0;
    demand.hasCharged = true;
  }
  if (drawnTenthsA >= limitTenthsA * WANTING) return want(demand, maxTenthsA);
  const isLowered =
    status === 'SuspendedEV' && demand.hasCharged && lowerAtOnce(demand, drawnTenthsA, leastTenthsA);
  return lower(demand, { drawnTenthsA, limitTenthsA, leastTenthsA }, nowMs) || isLowered;
}

/** A car that was there before the start needs no more than the owner before gave it, unless it uses all of that. */
function takeOver(demand: Demand, reading: DrawnReading, nowMs: number): void {
  const { drawnTenthsA, heldTenthsA, leastTenthsA = MINIMUM_TENTHS_A } = reading;
  if (heldTenthsA === undefined) return;
  if (heldTenthsA < leastTenthsA) {
    const resting = { isResting: true, isFoundPaused: true, restingSinceMs: nowMs };
    Object.assign(demand, {
      mostTenthsA: withStep(0, leastTenthsA),
      ...resting,
      restsForMs: PAUSED_BEFORE_MS,
    });
  } else if (drawnTenthsA < heldTenthsA * WANTING) {
    demand.mostTenthsA = Math.min(demand.mostTenthsA, heldTenthsA);
  }
}

/** The charger says itself that its car stopped: what is above the floor need not wait for more readings. */
function lowerAtOnce(demand: Demand, drawnTenthsA: number, leastTenthsA: number): boolean {
  const keptTenthsA = withStep(drawnTenthsA, leastTenthsA);
  if (drawnTenthsA >= RESTING_TENTHS_A || demand.mostTenthsA <= keptTenthsA) return false;
  demand.mostTenthsA = keptTenthsA;
  return true;
}

function want(demand: Demand, maxTenthsA: number): boolean {
  demand.belowSinceMs = undefined;
  const isNews = demand.mostTenthsA !== maxTenthsA;
  demand.mostTenthsA = maxTenthsA;
  return stopResting(demand, true) || isNews;
}

function stopResting(demand: Demand, when: boolean): boolean {
  if (!demand.isResting || !when) return false;
  Object.assign(demand, { isResting: false, isFoundPaused: false });
  return true;
}

/** One that was found paused may have waited for its turn, where not everybody could charge. */
export function doubtRest(demand: Demand): void {
  stopResting(demand, demand.isFoundPaused);
}

/** What would be wanted with room above it: drawing it stays below the share at which a car is seen to want more. */
function withStep(drawnTenthsA: number, leastTenthsA: number): number {
  return Math.max(leastTenthsA, Math.ceil(drawnTenthsA / WANTING) + STEP_TENTHS_A);
}

function lower(
  demand: Demand,
  reading: Required<Pick<DrawnReading, 'drawnTenthsA' | 'limitTenthsA' | 'leastTenthsA'>>,
  nowMs: number,
): boolean {
  const { drawnTenthsA, limitTenthsA, leastTenthsA } = reading;
  const isClearlyLess = withStep(drawnTenthsA, leastTenthsA) + STEP_TENTHS_A <= limitTenthsA;
  const isIdle = drawnTenthsA < RESTING_TENTHS_A;
  if (!isClearlyLess && !isIdle) {
    demand.belowSinceMs = undefined;
    return stopResting(demand, true);
  }
  const peakTenthsA = peakWith(demand, drawnTenthsA, nowMs);
  if (nowMs - (demand.belowSinceMs ?? nowMs) < LOWER_AFTER_MS) return false;
  const mostTenthsA = withStep(peakTenthsA, leastTenthsA);
  const isResting = peakTenthsA < RESTING_TENTHS_A;
  const isNews = mostTenthsA !== demand.mostTenthsA || isResting !== demand.isResting;
  if (isResting && !demand.isResting) {
    demand.restingSinceMs = nowMs;
    demand.restsForMs = Math.min(Math.max(RESTED_AFTER_MS, 2 * demand.restsForMs), RESTED_AT_MOST_MS);
  }
  demand.mostTenthsA = mostTenthsA;
  demand.isResting = isResting;
  demand.isFoundPaused = false;
  return isNews;
}

/**
 * Takes in what it draws now, and gives the most it drew in the last 30 s. That moves on with every reading: of a car
 * that takes less and less, what it left 30 s ago is free now, and not only every 30 s.
 */
function peakWith(demand: Demand, drawnTenthsA: number, nowMs: number): number {
  const { peaks } = demand;
  if (demand.belowSinceMs === undefined) {
    demand.belowSinceMs = nowMs;
    peaks.length = 0;
  }
  const last = peaks.at(-1);
  if (last !== undefined) last.untilMs = nowMs;
  while ((peaks.at(-1)?.tenthsA ?? Number.POSITIVE_INFINITY) <= drawnTenthsA) peaks.pop();
  const newest = peaks.at(-1);
  if (newest === undefined || nowMs - newest.fromMs >= PEAKS_APART_MS)
    peaks.push({ tenthsA: drawnTenthsA, fromMs: nowMs, untilMs: nowMs });
  while ((peaks[0]?.untilMs ?? nowMs) < nowMs - LOWER_AFTER_MS) peaks.shift();
  return peaks[0]?.tenthsA ?? drawnTenthsA;
}
