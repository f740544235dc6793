// A lease as a schedule of a charger: builds the schedule, and judges the schedule that the charger shows by it.
import { MINIMUM_CURRENT_A } from '../values/units.js';
import { type DcOutput, dcWOfAmpere } from './dc-output.js';

/** Unit in which a charger counts limits: A per phase, or W on all phases. For DC: A or W at the car. */
export type RateUnit = 'A' | 'W';

/** A limit and its successor. Instants in ms of the charger's own clock, limits in `unit`. */
export interface LeaseSchedule {
  readonly unit: RateUnit;
  /** Phases that the charger may use; undefined for DC. */
  readonly phases: 1 | 3 | undefined;
  /** Number of phases on which its car is assumed to carry a limit in watts. */
  readonly counted: CountedPhases;
  /** A whole second, `BEGINS_BEFORE_S` before the second from which the lease counts. */
  readonly startsAtOwnMs: number;
  readonly limit: number;
  /** Whole seconds after the start. */
  readonly endsAfterS: number;
  readonly thenLimit: number;
}

/**
 * A schedule begins this long before the instant from which its lease counts. A charger that counts from the receipt
 * shows the end too late by this time, on any link. Composite schedules count whole seconds, and hide less than two.
 */
export const BEGINS_BEFORE_S = 10;

/** Number of phases for a limit in watts: the phases that the car has used; 0 before that. Always 0 in amperes. */
export type CountedPhases = 0 | 1 | 2 | 3;

/** Limits of a charger from an instant on, from all its sources together. */
export interface ShownSchedule {
  readonly unit: RateUnit;
  readonly startsAtOwnMs: number;
  /** Length of the plan, s; undefined if the charger does not name it. */
  readonly durationS: number | undefined;
  /** As received: the first should begin at 0, and the others follow in order. */
  readonly periods: readonly { readonly startS: number; readonly limit: number }[];
}

/** `stepA`: the charger takes whole multiples of this. */
export interface Rate {
  readonly unit: RateUnit;
  readonly stepA: 0.1 | 1;
  /** Phases of the connector. */
  readonly phases: 1 | 3;
  readonly counted: CountedPhases;
  readonly voltageV: number;
  /** Undefined for AC. */
  readonly dc?: DcOutput | undefined;
}

/**
 * - `kept`: the charger stays within the lease, and no higher than `limit` until the lease ends.
 * - `proved`: in addition it showed that it lowers itself when the lease ends.
 * - `unshown`: it shows no limit at all, as some chargers do while no transaction runs.
 */
export type Proof =
  | { readonly verdict: 'kept' | 'proved'; readonly limit: number }
  | { readonly verdict: 'unshown' }
  | { readonly verdict: 'unkept'; readonly why: string; readonly excess: number };

/** Tolerance on the requested limit, as a charger rounds to its own units. */
const TOLERANCE = { A: 0.05, W: 1 };
/** Some chargers send this for no limit. */
const NO_LIMIT = -1;
/** A schedule counts in whole seconds. */
const LATEST_MS = 1_000;

/** @param currentA A per phase */
export function isOfferable(currentA: number, dc?: DcOutput): boolean {
  if (currentA === 0) return true;
  return dc === undefined ? currentA >= MINIMUM_CURRENT_A : dcWOfAmpere(currentA, dc) >= dc.leastW;
}

/**
 * A current (A per phase) in the charger's unit, rounded down to the charger's step; 0 below 6 A. In watts a car of one
 * phase could carry on that phase the power for three. Without a known number of phases, the limit is the larger of two
 * powers: the current on one phase, or 6 A on all, which a car of three needs to begin.
 */
export function limitIn(rate: Rate, currentA: number): number {
  const { unit, stepA, phases, counted, voltageV, dc } = rate;
  if (dc !== undefined) return dcLimitIn(rate, dcWOfAmpere(currentA, dc), dc);
  const steps = Math.floor((currentA + 1e-6) / stepA);
  const heldA = Math.round(steps * stepA * 10) / 10;
  if (heldA < MINIMUM_CURRENT_A) return 0;
  if (unit === 'A') return heldA;
  const sumA = counted === 0 ? Math.max(heldA, MINIMUM_CURRENT_A * phases) : heldA * counted;
  return Math.floor(sumA * voltageV);
}

/** A power at the car in the charger's unit. The car decides the voltage, so A count at the highest one. */
function dcLimitIn({ unit, stepA }: Rate, dcW: number, { leastW, maxVoltageV }: DcOutput): number {
  if (dcW < leastW) return 0;
  if (unit === 'W') return dcW;
  return Math.round(10 * stepA * Math.floor(dcW / maxVoltageV / stepA + 1e-6)) / 10;
}

/**
 * A grant as a schedule, counted from `countsFromOwnMs`, or less than a second before. Chargers receive whole seconds,
 * and the gateway compares their composite schedules with the sent ones. If the grant alone would not lower an
 * unverified charger, the fallback is 0, so that the charger has to lower itself.
 */
export function scheduleOf(
  { limitA, thenA, ttlS }: { readonly limitA: number; readonly thenA: number; readonly ttlS: number },
  rate: Rate,
  by: { readonly countsFromOwnMs: number; readonly maxCurrentA: number; readonly isProven: boolean },
): LeaseSchedule {
  const limit = limitIn(rate, Math.min(limitA, by.maxCurrentA));
  const thenLimit = limitIn(rate, Math.min(thenA, by.maxCurrentA));
  return {
    unit: rate.unit,
    phases: rate.dc !== undefined ? undefined : rate.counted === 1 ? 1 : rate.phases,
    counted: rate.counted,
    startsAtOwnMs: 1000 * (Math.floor(by.countsFromOwnMs / 1000) - BEGINS_BEFORE_S),
    limit,
    // A schedule counts in whole seconds.
    endsAfterS: BEGINS_BEFORE_S + Math.floor(ttlS),
    thenLimit: by.isProven || limit > thenLimit ? thenLimit : 0,
  };
}

/** Length of a composite schedule that shows the end of the lease, s. */
export function proofDurationS({ endsAfterS }: LeaseSchedule): number {
  return endsAfterS + 60;
}

/** No period has a limit; some chargers express that by a value below 0. */
export function showsNothing({ periods }: ShownSchedule): boolean {
  return periods.every(({ limit }) => limit < 0);
}

/** Periods in order from the start on: a gap before the first has no limit. */
export function periodsFromStart({ periods }: ShownSchedule): ShownSchedule['periods'] {
  const ordered = periods.toSorted((one, other) => one.startS - other.startS);
  const isOpen = (ordered[0]?.startS ?? 0) > 0;
  return isOpen ? [{ startS: 0, limit: NO_LIMIT }, ...ordered] : ordered;
}

/** One stretch of a composite schedule; `limit` in the unit of the lease. */
interface Stretch {
  readonly fromMs: number;
  readonly untilMs: number;
  readonly limit: number;
}

/**
 * Judges the composite schedule of a charger with that lease. A charger may do less at any time, and more at none.
 * @param voltageV converts A to W: of a phase, or the highest at the car for DC
 */
export function judge(composite: ShownSchedule, lease: LeaseSchedule, voltageV: number): Proof {
  const { startsAtOwnMs, limit, thenLimit, unit } = lease;
  const endsAtMs = startsAtOwnMs + 1000 * lease.endsAfterS;
  const countsFromMs = startsAtOwnMs + 1000 * BEGINS_BEFORE_S;
  // Some chargers show the sent schedule from its own start on. Otherwise the lease must count from an instant that is
  // over by the charger's own clock. Else the lease would begin later than it should.
  if (composite.startsAtOwnMs !== startsAtOwnMs && composite.startsAtOwnMs < countsFromMs - LATEST_MS)
    return { verdict: 'unkept', why: 'its clock reads earlier than it did', excess: Infinity };
  const stretches = stretchesOf(composite, lease, voltageV).filter(({ untilMs }) => untilMs > startsAtOwnMs);
  if (showsNothing(composite)) return { verdict: 'unshown' };
  let isLowered = false;
  let shownLimit = 0;
  for (const [i, stretch] of stretches.entries()) {
    const isBefore = stretch.fromMs < endsAtMs - LATEST_MS;
    if (isBefore) shownLimit = Math.max(shownLimit, stretch.limit);
    const isAfter = stretch.untilMs > endsAtMs + LATEST_MS;
    const most = Math.min(isBefore ? limit : Infinity, isAfter ? thenLimit : Infinity);
    const excess = stretch.limit - Math.min(most, Math.max(limit, thenLimit));
    if (excess > TOLERANCE[unit]) return { verdict: 'unkept', why: unkept(stretch, lease, isBefore), excess };
    const next = stretches[i + 1];
    const isEnd = Math.abs(stretch.untilMs - endsAtMs) <= LATEST_MS;
    if (isEnd && next !== undefined && stretch.limit > thenLimit + TOLERANCE[unit]) isLowered = true;
  }
  if (isLowered) return { verdict: 'proved', limit: shownLimit };
  const isLow = stretches.every((stretch) => stretch.limit <= thenLimit + TOLERANCE[unit]);
  if (isLow || limit <= thenLimit) return { verdict: 'kept', limit: shownLimit };
  return {
    verdict: 'unkept',
    why: 'it does not show its limit after the end of the lease',
    excess: Infinity,
  };
}

function unkept({ limit }: Stretch, lease: LeaseSchedule, isBefore: boolean): string {
  const { unit, thenLimit } = lease;
  const shown = limit === Infinity ? 'no limit' : `${Math.round(10 * limit) / 10} ${unit}`;
  if (isBefore && limit > lease.limit + TOLERANCE[unit])
    return `it shows ${shown} instead of ${lease.limit} ${unit}`;
  return `it does not lower its current when the lease ends: it shows ${shown} instead of ${thenLimit} ${unit}`;
}

function stretchesOf(composite: ShownSchedule, lease: LeaseSchedule, voltageV: number): readonly Stretch[] {
  const { unit, startsAtOwnMs, durationS } = composite;
  const periods = periodsFromStart(composite);
  const wattsPerA = voltageV * (lease.phases ?? 1);
  const factor = unit === lease.unit ? 1 : unit === 'A' ? wattsPerA : 1 / wattsPerA;
  return periods.map(({ startS, limit }, i) => ({
    fromMs: startsAtOwnMs + 1000 * startS,
    untilMs: startsAtOwnMs + 1000 * (periods[i + 1]?.startS ?? durationS ?? Infinity),
    limit: limit < 0 ? Infinity : limit * factor,
  }));
}
