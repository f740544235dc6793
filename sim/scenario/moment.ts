// Parses instants, offsets, times of day and durations such as `1h30m`, as a scenario writes them.
import { z } from 'zod';
import type { EpochMs } from '../../machines/values/time.js';
import type { TimeZone } from '../../machines/values/time-zone.js';
import type { Range } from './draw.js';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;
const LONGEST_MS = 400 * DAY_MS;

const DURATION =
  /^(?:(\d{1,4})d)?(?:(\d{1,5})h)?(?:(\d{1,7})m)?(?:(\d{1,9}(?:\.\d{1,3})?)s)?(?:(\d{1,12})ms)?$/;
const INSTANT =
  /^(\d{4}-\d{2}-\d{2})T([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,9})?)?(Z|([+-])(0\d|1[0-4]):([0-5]\d))$/i;
const TIME_OF_DAY = /^([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?$/;

const DURATION_RULE = 'must be a duration such as 90s, 10m, 1h30m or 2d';
export const INSTANT_RULE = 'must be an instant such as 2026-06-01T17:00:00Z or 2026-06-01T17:00:00+02:00';
const MOMENT_RULE =
  'must be an instant such as 2026-06-01T17:00:00Z, an offset from the start such as +1h30m or from the end such as -10m, or a time of day such as 17:00';

/** A duration in ms; undefined if `text` is not one. */
export function parseDuration(text: string): number | undefined {
  const match = text === '' ? null : DURATION.exec(text);
  if (match === null) return undefined;
  const [days = 0, hours = 0, minutes = 0, seconds = 0, ms = 0] = match
    .slice(1)
    .map((part) => Number(part ?? 0));
  return Math.round(days * DAY_MS + hours * HOUR_MS + minutes * MINUTE_MS + seconds * SECOND_MS + ms);
}

/** An instant, and the UTC offset in its text. */
export interface LocalInstant {
  readonly atMs: EpochMs;
  readonly utcOffsetMs: number;
}

/** `text` as an RFC 3339 instant of any offset; undefined if `text` is not one, or the calendar has no such day. */
export function parseInstant(text: string): LocalInstant | undefined {
  const match = INSTANT.exec(text);
  if (match === null) return undefined;
  const [, day = '', , , , , sign, hours, minutes] = match;
  const atMs = Date.parse(text.toUpperCase());
  if (Number.isNaN(atMs)) return undefined;
  // Date.parse reads 30 February as a day in March.
  const isKnownDay = new Date(`${day}T00:00:00Z`).toISOString().startsWith(day);
  if (!isKnownDay) return undefined;
  const offsetMs = Number(hours ?? 0) * HOUR_MS + Number(minutes ?? 0) * MINUTE_MS;
  return { atMs, utcOffsetMs: sign === '-' ? -offsetMs : offsetMs };
}

/** A moment in a scenario, before the dates of the scenario apply to it. */
export type Moment =
  | { readonly kind: 'instant'; readonly atMs: EpochMs }
  | { readonly kind: 'afterStart' | 'beforeEnd' | 'timeOfDay'; readonly ms: number };

/** The time that a scenario covers, `[startsAtMs, endsAtMs]`, and the UTC offset of the site. */
export interface ScenarioSpan {
  readonly startsAtMs: EpochMs;
  readonly endsAtMs: EpochMs;
  readonly utcOffsetMs: number;
}

/** `text` as a moment; undefined if it is not one. */
export function parseMoment(text: string): Moment | undefined {
  const sign = text.charAt(0);
  if (sign === '+' || sign === '-') {
    const ms = parseDuration(text.slice(1));
    return ms === undefined ? undefined : { kind: sign === '+' ? 'afterStart' : 'beforeEnd', ms };
  }
  const time = TIME_OF_DAY.exec(text);
  if (time !== null) {
    const [hours = 0, minutes = 0, seconds = 0] = time.slice(1).map((part) => Number(part ?? 0));
    return { kind: 'timeOfDay', ms: hours * HOUR_MS + minutes * MINUTE_MS + seconds * SECOND_MS };
  }
  const instant = parseInstant(text);
  return instant && { kind: 'instant', atMs: instant.atMs };
}

/**
 * The instant of `moment`. A time of day means its first occurrence at or after the start, by the clock of the site.
 */
export function resolveMoment(moment: Moment, { startsAtMs, endsAtMs, utcOffsetMs }: ScenarioSpan): EpochMs {
  if (moment.kind === 'instant') return moment.atMs;
  if (moment.kind === 'afterStart') return startsAtMs + moment.ms;
  if (moment.kind === 'beforeEnd') return endsAtMs - moment.ms;
  const sinceMidnightMs = (((startsAtMs + utcOffsetMs) % DAY_MS) + DAY_MS) % DAY_MS;
  const aheadMs = moment.ms - sinceMidnightMs;
  return startsAtMs + (aheadMs < 0 ? aheadMs + DAY_MS : aheadMs);
}

/** A schema for text that `parse` accepts; any other text gives an error with the message `rule`. */
export function parsedSchema<T>(parse: (text: string) => T | undefined, rule: string) {
  return z.string(rule).transform((text, context): T => {
    const parsed = parse(text);
    if (parsed !== undefined) return parsed;
    context.issues.push({ code: 'custom', message: rule, input: text });
    return z.NEVER;
  });
}

export const momentSchema = parsedSchema(parseMoment, MOMENT_RULE);
export const localInstantSchema = parsedSchema(parseInstant, INSTANT_RULE);

/** A duration in ms, at least `minMs`. */
export function durationSchema(minMs: number) {
  const rule = minMs === 0 ? DURATION_RULE : `${DURATION_RULE}, at least ${minMs / SECOND_MS}s`;
  return parsedSchema((text) => {
    const ms = parseDuration(text);
    return ms === undefined || ms < minMs || ms > LONGEST_MS ? undefined : ms;
  }, rule);
}

/** One value of `element`, or a range with two ends. `rule` is the error message of `element`, too. */
function rangeSchema<Written>(element: z.ZodType<number, Written>, rule: string) {
  return z
    .union([element, z.tuple([element, element], rule)], rule)
    .transform((value): Range => (typeof value === 'number' ? [value, value] : value))
    .refine(([from, to]) => from <= to, rule);
}

function rangeRuleOf(rule: string): string {
  return `${rule}, or a range of two: [from, to]`;
}

/** A duration from `minMs` to `maxMs`, or a range of durations. */
export function durationRangeSchema(minMs: number, maxMs = LONGEST_MS) {
  const bounds = `from ${minMs / SECOND_MS}s to ${maxMs < LONGEST_MS ? `${maxMs / SECOND_MS}s` : '400d'}`;
  const rule = rangeRuleOf(`${DURATION_RULE}, ${bounds}`);
  const element = parsedSchema((text) => {
    const ms = parseDuration(text);
    return ms === undefined || ms < minMs || ms > maxMs ? undefined : ms;
  }, rule);
  return rangeSchema(element, rule);
}

/** A number from `min` to `max` (with `unit` in the error), or a range of numbers. */
export function numberRangeSchema(min: number, max: number, unit = '') {
  const rule = rangeRuleOf(`must be a number from ${min} to ${max}${unit === '' ? '' : `, in ${unit}`}`);
  return rangeSchema(z.number(rule).min(min, rule).max(max, rule), rule);
}

// Times in a file, written with or without an offset from UTC.

/** A time in a file: an instant, or a local time (`wallMs` as in `TimeZone`). */
type WrittenTime = { readonly atMs: EpochMs } | { readonly wallMs: number };

/**
 * `written` with or without a UTC offset; `T` or a space follows the date. Undefined if the calendar has no such time.
 */
export function parseWrittenTime(written: string): WrittenTime | undefined {
  const text = written.replace(' ', 'T');
  const instant = parseInstant(text);
  if (instant !== undefined) return { atMs: instant.atMs };
  const shown = parseInstant(`${text}Z`);
  return shown && { wallMs: shown.atMs };
}

/** The first and the last instant that `written` can mean; undefined for a local time without `zone`. */
export function instantsOf(
  written: WrittenTime,
  zone: TimeZone | undefined,
): readonly [EpochMs, EpochMs] | undefined {
  if ('atMs' in written) return [written.atMs, written.atMs];
  return zone?.instantsAt(written.wallMs);
}
