// Estimates the current that a car can use from its draw, so that others can use the remainder.

import type { ChargingStatus } from '../values/charging-status.js';
import { MINIMUM_TENTHS_A } from '../values/units.js';

/**
 * A car below its limit for this long is lowered to its draw plus a step. The period is 30 s, less 2 s for jitter of
 * four heartbeats 10 s apart.
 */
const LOWER_AFTER_MS = 28_000;
/** Minimum margin above the draw. The margin lets a car show that it wants more. */
const STEP_TENTHS_A = 10;
/** A car that draws this share of its limit wants more. */
const WANTING = 0.9;
/** A lower current does not count as charging. */
const RESTING_TENTHS_A = 10;
/** After this long, a paused car that did not use its limit is offered power again. */
const RESTED_AFTER_MS = 30 * 60_000;
/** Each failed offer doubles the interval up to this value, so that a full battery takes no turns from others. */
const RESTED_AT_MOST_MS = 4 * RESTED_AFTER_MS;

/**
 * A car that was paused under the previous owner stays paused for this long. It may be full, and offers to all such
 * cars at once would take power from others.
 */
const PAUSED_BEFORE_MS = 5 * 60_000;

/** States of a charger without a car to serve. */
const WITHOUT_CAR: ReadonlySet<ChargingStatus> = new Set([
  'Available',
  'Finishing',
  'Faulted',
  'Unavailable',
]);

/** The draw was `tenthsA` from `fromMs`, and no more than that until `untilMs`. */
interface Peak {
  readonly tenthsA: number;
  readonly fromMs: number;
  untilMs: number;
}

/** A lower draw this soon after a peak counts as the peak. So a dozen peaks span 30 s. */
const PEAKS_APART_MS = 2_500;

/** Estimated demand of one connector's car. Currents in tenths of an ampere per phase. */
export interface Demand {
  /** A car is or may be plugged in. A charger that sends no status counts as one with a car. */
  hasCar: boolean;
  arrivedAtMs: number;
  /** The greatest usable current. */
  mostTenthsA: number;
  /** The car does not use its limit: other cars go first. */
  isResting: boolean;
  /** The only reason to treat the car as resting: the previous owner left it paused. */
  isFoundPaused: boolean;
  /** The car has charged since its arrival or last pause. */
  hasCharged: boolean;
  /** Total charging time since arrival. */
  chargedMs: number;
  receivedAtMs: number;
  /** The draw is clearly below the limit since this time; undefined otherwise. */
  belowSinceMs: number | undefined;
  /** Draw since then, in descending order of current; a sample that a later one exceeds is dropped. */
  readonly peaks: Peak[];
  restingSinceMs: number;
  /** Rest period of a paused car, ms. After that the car is offered power again. */
  restsForMs: number;
  /** The charger last suspended its car under more than the lowest limit; -Infinity if it never did. */
  suspendedAboveLeastAtMs: number;
}

/** One reading. `limitTenthsA` is the limit that the charger keeps now. */
export interface DrawnReading {
  readonly status: ChargingStatus | undefined;
  readonly drawnTenthsA: number;
  readonly limitTenthsA: number;
  /** The lowest limit above 0; 6 A if omitted. */
  readonly leastTenthsA?: number;
  readonly maxTenthsA: number;
  /** Limit from a grant before the service start; undefined without one. */
  readonly heldTenthsA?: number | undefined;
}

/** An unknown car may want the maximum. */
export function createDemand(maxTenthsA: number): Demand {
  return {
    hasCar: false,
    arrivedAtMs: 0,
    mostTenthsA: maxTenthsA,
    isResting: false,
    isFoundPaused: false,
    hasCharged: false,
    chargedMs: 0,
    receivedAtMs: 0,
    belowSinceMs: undefined,
    peaks: [],
    restingSinceMs: 0,
    restsForMs: 0,
    suspendedAboveLeastAtMs: Number.NEGATIVE_INFINITY,
  };
}

/** The car left, although no reading without a car arrived. The next reading counts as an arrival. */
export function forgetCar(demand: Demand): void {
  demand.hasCar = false;
}

/** Evaluates a reading at a monotonic time in ms; true if the division of power may change. */
export function foldDemand(demand: Demand, reading: DrawnReading, nowMs: number): boolean {
  const { status, drawnTenthsA, limitTenthsA, maxTenthsA, leastTenthsA = MINIMUM_TENTHS_A } = reading;
  const hasCar = status === undefined || !WITHOUT_CAR.has(status);
  if (hasCar !== demand.hasCar) {
    // Later readings show the demand of a new arrival.
    Object.assign(demand, createDemand(maxTenthsA), { hasCar, arrivedAtMs: nowMs, receivedAtMs: nowMs });
    if (hasCar) takeOver(demand, reading, nowMs);
    return true;
  }
  if (!hasCar) return false;
  if (drawnTenthsA >= RESTING_TENTHS_A) demand.chargedMs += nowMs - demand.receivedAtMs;
  demand.receivedAtMs = nowMs;
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
  return lower(demand, { status, drawnTenthsA, limitTenthsA, leastTenthsA, maxTenthsA }, nowMs) || isLowered;
}

/** A car from before the start needs no more than its earlier limit, unless it uses all of that. */
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

/** The charger reports that its car stopped, so the demand above the floor ends without further readings. */
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

/** A car found paused may have been pending its turn if not every car could charge. */
export function doubtRest(demand: Demand): void {
  stopResting(demand, demand.isFoundPaused);
}

/** Limit with a margin above the draw, so that the draw stays below the share that counts as wanting more. */
function withStep(drawnTenthsA: number, leastTenthsA: number): number {
  return Math.max(leastTenthsA, Math.ceil(drawnTenthsA / WANTING) + STEP_TENTHS_A);
}

type JudgedReading = Required<Omit<DrawnReading, 'heldTenthsA'>>;

/**
 * A charger that suspends its car under the lowest limit may need more: a DC output in amperes offers less than its
 * minimum below its highest voltage. The resting car then takes the power that others leave, once per rest (R20).
 */
function mayNeedMore(
  { suspendedAboveLeastAtMs }: Demand,
  { status, limitTenthsA, leastTenthsA }: JudgedReading,
  nowMs: number,
): boolean {
  const isAtLeast = limitTenthsA <= leastTenthsA + STEP_TENTHS_A;
  return status === 'SuspendedEVSE' && isAtLeast && nowMs - suspendedAboveLeastAtMs >= RESTED_AFTER_MS;
}

function lower(demand: Demand, reading: JudgedReading, nowMs: number): boolean {
  const { status, drawnTenthsA, limitTenthsA, leastTenthsA, maxTenthsA } = reading;
  const isClearlyLess = withStep(drawnTenthsA, leastTenthsA) + STEP_TENTHS_A <= limitTenthsA;
  const isIdle = drawnTenthsA < RESTING_TENTHS_A;
  if (!isClearlyLess && !isIdle) {
    demand.belowSinceMs = undefined;
    return stopResting(demand, true);
  }
  const isOffered = isIdle && mayNeedMore(demand, reading, nowMs);
  if (isOffered && demand.isResting && demand.mostTenthsA === maxTenthsA) {
    // Its time begins with the higher limit.
    demand.belowSinceMs = undefined;
    return false;
  }
  const peakTenthsA = peakWith(demand, drawnTenthsA, nowMs);
  if (nowMs - (demand.belowSinceMs ?? nowMs) < LOWER_AFTER_MS) return false;
  const isResting = peakTenthsA < RESTING_TENTHS_A;
  if (isResting && !isOffered && status === 'SuspendedEVSE' && demand.mostTenthsA > leastTenthsA)
    demand.suspendedAboveLeastAtMs = nowMs;
  const mostTenthsA = isResting && isOffered ? maxTenthsA : withStep(peakTenthsA, leastTenthsA);
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
 * Adds the current draw and returns the highest draw of the last 30 s. The window moves with every reading, so a
 * falling draw frees power continuously.
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
