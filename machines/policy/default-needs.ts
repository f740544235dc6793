// Departures by weekday from the provisioning file: the need of each car that declares none itself.

import type { EpochMs } from '../values/time.js';
import { TimeZone } from '../values/time-zone.js';
import type { SessionNeed } from './session-needs.js';

/** In the order of a week. */
export const WEEKDAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'] as const;
export type Weekday = (typeof WEEKDAYS)[number];

/** Cars leave on these days at that time of day. */
export interface DepartureRule {
  readonly days: readonly Weekday[];
  /** Shown by clocks of the location, in ms since midnight. */
  readonly timeOfDayMs: number;
  readonly need: Omit<SessionNeed, 'departsAtMs'>;
}

export interface Departures {
  /** IANA name of the location's zone. */
  readonly timeZone: string;
  readonly rules: readonly DepartureRule[];
}

const DAY_MS = 86_400_000;
const DAYS_OF_WEEK = 7;
/** 1970 began on a Thursday. */
const EPOCH_WEEKDAY = 3;

/**
 * The need by the first departure after the arrival; undefined without any. A time that clocks show twice is the first
 * of both, and a time that they skip is as long after midnight as on other days.
 */
export function defaultNeedOf(
  { timeZone, rules }: Departures,
  arrivedAtMs: EpochMs,
): SessionNeed | undefined {
  // Another release of Node may have stored the name.
  const zone = TimeZone.named(timeZone);
  if (zone === undefined) return undefined;
  const today = Math.floor(zone.wallMsAt(arrivedAtMs) / DAY_MS);
  // The day of arrival comes last again: its departure may be over.
  for (let day = today; day <= today + DAYS_OF_WEEK; day++) {
    const first = firstOf(day, zone, rules, arrivedAtMs);
    if (first !== undefined) return first;
  }
  return undefined;
}

/** @param day in days since 1970 */
function firstOf(
  day: number,
  zone: TimeZone,
  rules: readonly DepartureRule[],
  arrivedAtMs: EpochMs,
): SessionNeed | undefined {
  const weekday = WEEKDAYS.at((day + EPOCH_WEEKDAY) % DAYS_OF_WEEK);
  let first: SessionNeed | undefined;
  for (const { days, timeOfDayMs, need } of rules) {
    if (weekday === undefined || !days.includes(weekday)) continue;
    const [departsAtMs] = zone.instantsAt(day * DAY_MS + timeOfDayMs);
    if (departsAtMs > arrivedAtMs && departsAtMs < (first?.departsAtMs ?? Number.POSITIVE_INFINITY))
      first = { departsAtMs, ...need };
  }
  return first;
}
