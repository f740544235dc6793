// A lease as a charging schedule of OCPP: what a charger is told to do until the lease ends and after, and whether what it
// says it will do is that.
import { MINIMUM_CURRENT_A } from '../values/units.js';

/** What a charger counts limits in: A per phase, or W on all phases. */
export type RateUnit = 'A' | 'W';

/** A limit and what follows it. Instants in ms of the charger's own clock, limits in `unit`. */
export interface LeaseSchedule {
  readonly unit: RateUnit;
  readonly phases: 1 | 3;
  readonly startsAtOwnMs: number;
  readonly limit: number;
  /** After the start, whole seconds. */
  readonly ttlS: number;
  readonly thenLimit: number;
}

/** What a charger says it will do, all its profiles together. */
export interface CompositeSchedule {
  readonly unit: RateUnit;
  readonly startsAtOwnMs: number;
  /** How far it looks, s; undefined where it does not say. */
  readonly durationS: number | undefined;
  /** The first begins at 0. */
  readonly periods: readonly { readonly startS: number; readonly limit: number }[];
}

/** How a charger takes limits. `stepA`: it takes whole multiples of that. */
export interface Rate {
  readonly unit: RateUnit;
  readonly stepA: 0.1 | 1;
  readonly phases: 1 | 3;
  readonly voltageV: number;
}

/**
 * `kept`: it will never be above the lease. `proved`: and it showed that it lowers itself when the lease ends. `unshown`: it
 * shows no limit at all, as some do while no transaction runs.
 */
export type Proof =
  | { readonly verdict: 'kept' | 'proved' | 'unshown' }
  | { readonly verdict: 'unkept'; readonly why: string; readonly excess: number };

/** Of what was asked for, where a charger rounds to its own units. */
const TOLERANCE = { A: 0.05, W: 1 };
/** A schedule counts in whole seconds. */
const LATEST_MS = 1_000;

/** A current (A per phase) rounded down to what the charger takes; below 6 A it is 0. In the charger's unit. */
export function limitIn({ unit, stepA, phases, voltageV }: Rate, currentA: number): number {
  const steps = Math.floor((currentA + 1e-6) / stepA);
  const heldA = Math.round(steps * stepA * 10) / 10;
  if (heldA < MINIMUM_CURRENT_A) return 0;
  return unit === 'A' ? heldA : Math.floor(heldA * voltageV * phases);
}

/**
 * A grant as a charger takes it, counted from `startsAtOwnMs`. A charger that has not shown yet that it lowers itself is
 * made to, where the grant alone would not: it may fall back to less than it has to.
 */
export function scheduleOf(
  { limitA, thenA, ttlS }: { readonly limitA: number; readonly thenA: number; readonly ttlS: number },
  rate: Rate,
  by: { readonly startsAtOwnMs: number; readonly maxCurrentA: number; readonly isProven: boolean },
): LeaseSchedule {
  const limit = limitIn(rate, Math.min(limitA, by.maxCurrentA));
  const thenLimit = limitIn(rate, Math.min(thenA, by.maxCurrentA));
  return {
    unit: rate.unit,
    phases: rate.phases,
    startsAtOwnMs: by.startsAtOwnMs,
    limit,
    // A schedule counts in whole seconds.
    ttlS: Math.floor(ttlS),
    thenLimit: by.isProven || limit > thenLimit ? thenLimit : 0,
  };
}

/** How long `schedule` of a charger must reach so that it shows the end of a lease, s. */
export function proofDurationS({ ttlS }: LeaseSchedule): number {
  return Math.ceil(ttlS) + 60;
}

/** No period has a limit; below 0 is how some say that. */
export function showsNothing({ periods }: CompositeSchedule): boolean {
  return periods.every(({ limit }) => limit < 0);
}

/** One stretch of a composite schedule; `limit` in the unit of the lease. */
interface Stretch {
  readonly fromMs: number;
  readonly untilMs: number;
  readonly limit: number;
}

/** What `composite` says of a charger that was told `lease`. A charger may do less at any time, and more at none. */
export function judge(composite: CompositeSchedule, lease: LeaseSchedule, voltageV: number): Proof {
  const endsAtMs = lease.startsAtOwnMs + 1000 * lease.ttlS;
  const { limit, thenLimit, unit } = lease;
  // The lease counts from an instant that is over by the charger's own clock, or it would begin later than it should.
  if (composite.startsAtOwnMs < lease.startsAtOwnMs - LATEST_MS)
    return { verdict: 'unkept', why: 'its clock reads earlier than it did', excess: Infinity };
  const stretches = stretchesOf(composite, lease, voltageV).filter(
    ({ untilMs }) => untilMs > lease.startsAtOwnMs,
  );
  if (showsNothing(composite)) return { verdict: 'unshown' };
  let isLowered = false;
  for (const [i, stretch] of stretches.entries()) {
    const isBefore = stretch.fromMs < endsAtMs - LATEST_MS;
    const isAfter = stretch.untilMs > endsAtMs + LATEST_MS;
    const most = Math.min(isBefore ? limit : Infinity, isAfter ? thenLimit : Infinity);
    const excess = stretch.limit - Math.min(most, Math.max(limit, thenLimit));
    if (excess > TOLERANCE[unit]) return { verdict: 'unkept', why: unkept(stretch, lease, isBefore), excess };
    const next = stretches[i + 1];
    const isEnd = Math.abs(stretch.untilMs - endsAtMs) <= LATEST_MS;
    if (isEnd && next !== undefined && stretch.limit > thenLimit + TOLERANCE[unit]) isLowered = true;
  }
  if (isLowered) return { verdict: 'proved' };
  const isLow = stretches.every((stretch) => stretch.limit <= thenLimit + TOLERANCE[unit]);
  if (isLow || limit <= thenLimit) return { verdict: 'kept' };
  return { verdict: 'unkept', why: 'it does not show what follows when the lease ends', excess: Infinity };
}

function unkept({ limit }: Stretch, lease: LeaseSchedule, isBefore: boolean): string {
  const { unit, thenLimit } = lease;
  const shown = `${Math.round(10 * limit) / 10} ${unit}`;
  if (isBefore && limit > lease.limit + TOLERANCE[unit])
    return `it shows ${shown} where it was told ${lease.limit} ${unit}`;
  return `it does not lower itself when the lease ends: it shows ${shown} where it was told ${thenLimit} ${unit}`;
}

function stretchesOf(
  { unit, startsAtOwnMs, durationS, periods }: CompositeSchedule,
  lease: LeaseSchedule,
  voltageV: number,
): readonly Stretch[] {
  const wattsPerA = voltageV * lease.phases;
  const factor = unit === lease.unit ? 1 : unit === 'A' ? wattsPerA : 1 / wattsPerA;
  return periods.map(({ startS, limit }, i) => ({
    fromMs: startsAtOwnMs + 1000 * startS,
    untilMs: startsAtOwnMs + 1000 * (periods[i + 1]?.startS ?? durationS ?? Infinity),
    limit: limit < 0 ? Infinity : limit * factor,
  }));
}
