// A lease as a charging schedule of OCPP: what a charger is told to do until the lease ends and after, and whether what it
// says it will do is that.
import { MINIMUM_CURRENT_A } from '../values/units.js';

/** What a charger counts limits in: A per phase, or W on all phases. */
export type RateUnit = 'A' | 'W';

/** A limit and what follows it. Instants in ms of the charger's own clock, limits in `unit`. */
export interface LeaseSchedule {
  readonly unit: RateUnit;
  /** That the charger may use. */
  readonly phases: 1 | 3;
  /** On how many its car is thought to carry a limit in watts. */
  readonly counted: CountedPhases;
  /** A whole second, `BEGINS_BEFORE_S` before the one in which the lease counts from. */
  readonly startsAtOwnMs: number;
  readonly limit: number;
  /** After the start, whole seconds. */
  readonly endsAfterS: number;
  readonly thenLimit: number;
}

/**
 * A schedule begins so long before what its lease counts from. A charger that counts from when it is told shows the end so much
 * too late, however fast its link is: composite schedules count in whole seconds, and hide less than two.
 */
export const BEGINS_BEFORE_S = 10;

/** As many phases as a limit in watts is for: those that the car was seen to use; 0 before that. Of amperes always 0. */
export type CountedPhases = 0 | 1 | 2 | 3;

/** What a charger says it will do, all its profiles together. */
export interface CompositeSchedule {
  readonly unit: RateUnit;
  readonly startsAtOwnMs: number;
  /** How far it looks, s; undefined where it does not say. */
  readonly durationS: number | undefined;
  /** As it says them: the first should begin at 0, and the others follow in order. */
  readonly periods: readonly { readonly startS: number; readonly limit: number }[];
}

/** How a charger takes limits. `stepA`: it takes whole multiples of that. */
export interface Rate {
  readonly unit: RateUnit;
  readonly stepA: 0.1 | 1;
  /** Of the connector. */
  readonly phases: 1 | 3;
  readonly counted: CountedPhases;
  readonly voltageV: number;
}

/**
 * `kept`: it will never be above the lease, and no higher than `limit` until that ends. `proved`: and it showed that it lowers
 * itself when the lease ends. `unshown`: it shows no limit at all, as some do while no transaction runs.
 */
export type Proof =
  | { readonly verdict: 'kept' | 'proved'; readonly limit: number }
  | { readonly verdict: 'unshown' }
  | { readonly verdict: 'unkept'; readonly why: string; readonly excess: number };

/** Of what was asked for, where a charger rounds to its own units. */
const TOLERANCE = { A: 0.05, W: 1 };
/** As some write that there is none. */
const NO_LIMIT = -1;
/** A schedule counts in whole seconds. */
const LATEST_MS = 1_000;

/** Whether a charger can be told that, A per phase. */
export function isOfferable(currentA: number): boolean {
  return currentA === 0 || currentA >= MINIMUM_CURRENT_A;
}

/**
 * A current (A per phase) rounded down to what the charger takes; below 6 A it is 0. In the charger's unit. In watts a car of one
 * phase could carry on that what is meant for three: one that has not shown how many it uses is told as much as one of
 * one phase may have, or what one of three needs to begin.
 */
export function limitIn({ unit, stepA, phases, counted, voltageV }: Rate, currentA: number): number {
  const steps = Math.floor((currentA + 1e-6) / stepA);
  const heldA = Math.round(steps * stepA * 10) / 10;
  if (heldA < MINIMUM_CURRENT_A) return 0;
  if (unit === 'A') return heldA;
  const sumA = counted === 0 ? Math.max(heldA, MINIMUM_CURRENT_A * phases) : heldA * counted;
  return Math.floor(sumA * voltageV);
}

/**
 * A grant as a charger takes it, counted from `countsFromOwnMs`, or less than a second before that: chargers are told whole seconds, and
 * what they show of it is compared with what they were told. A charger that has not shown yet that it lowers itself is
 * made to, where the grant alone would not: it may fall back to less than it has to.
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
    phases: rate.counted === 1 ? 1 : rate.phases,
    counted: rate.counted,
    startsAtOwnMs: 1000 * (Math.floor(by.countsFromOwnMs / 1000) - BEGINS_BEFORE_S),
    limit,
    // A schedule counts in whole seconds.
    endsAfterS: BEGINS_BEFORE_S + Math.floor(ttlS),
    thenLimit: by.isProven || limit > thenLimit ? thenLimit : 0,
  };
}

/** How long `schedule` of a charger must reach so that it shows the end of a lease, s. */
export function proofDurationS({ endsAfterS }: LeaseSchedule): number {
  return endsAfterS + 60;
}

/** No period has a limit; below 0 is how some say that. */
export function showsNothing({ periods }: CompositeSchedule): boolean {
  return periods.every(({ limit }) => limit < 0);
}

/** In order, from the start on: what is left open before the first has no limit. */
export function periodsFromStart({ periods }: CompositeSchedule): CompositeSchedule['periods'] {
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

/** What `composite` says of a charger that was told `lease`. A charger may do less at any time, and more at none. */
export function judge(composite: CompositeSchedule, lease: LeaseSchedule, voltageV: number): Proof {
  const { startsAtOwnMs, limit, thenLimit, unit } = lease;
  const endsAtMs = startsAtOwnMs + 1000 * lease.endsAfterS;
  const countsFromMs = startsAtOwnMs + 1000 * BEGINS_BEFORE_S;
  // Some show what they were told from its beginning on. Otherwise the lease counts from an instant that is over by the charger's
  // own clock, or it would begin later than it should.
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
  return { verdict: 'unkept', why: 'it does not show what follows when the lease ends', excess: Infinity };
}

function unkept({ limit }: Stretch, lease: LeaseSchedule, isBefore: boolean): string {
  const { unit, thenLimit } = lease;
  const shown = limit === Infinity ? 'no limit' : `${Math.round(10 * limit) / 10} ${unit}`;
  if (isBefore && limit > lease.limit + TOLERANCE[unit])
    return `it shows ${shown} where it was told ${lease.limit} ${unit}`;
  return `it does not lower itself when the lease ends: it shows ${shown} where it was told ${thenLimit} ${unit}`;
}

function stretchesOf(
  composite: CompositeSchedule,
  lease: LeaseSchedule,
  voltageV: number,
): readonly Stretch[] {
  const { unit, startsAtOwnMs, durationS } = composite;
  const periods = periodsFromStart(composite);
  const wattsPerA = voltageV * lease.phases;
  const factor = unit === lease.unit ? 1 : unit === 'A' ? wattsPerA : 1 / wattsPerA;
  return periods.map(({ startS, limit }, i) => ({
    fromMs: startsAtOwnMs + 1000 * startS,
    untilMs: startsAtOwnMs + 1000 * (periods[i + 1]?.startS ?? durationS ?? Infinity),
    limit: limit < 0 ? Infinity : limit * factor,
  }));
}
