// Minutes of a connector's day as text: runs of equal minutes, as differences in base 64 of variable length. Most take
// two or three digits.
import { MINUTE_MS, type MinuteRun } from '../../../machines/power/connector-minutes.js';
import type { EpochMs } from '../../../machines/values/time.js';

export const DAY_MS = 86_400_000;
const MINUTES_OF_DAY = DAY_MS / MINUTE_MS;

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const PLACES = new Map([...DIGITS].map((digit, place) => [digit, place]));
/** Each digit has five bits, and one that is set if another digit follows. */
const FIVE_BITS = 32;
/** Before the first minute of consecutive ones. */
const BEGIN = '.';
/** Longer than any number of a row, so that a damaged one ends. */
const LARGEST = 2 ** 40;

/** The text of the runs by the start of their day in UTC. Texts of one day are joined in the order of their writes. */
export function packed(runs: readonly MinuteRun[]): ReadonlyMap<EpochMs, string> {
  const days = new Map<EpochMs, { text: string; endsAtMs: EpochMs; meanDaW: number; limit: number }>();
  for (const run of runs.flatMap(byDay)) {
    const dayMs = Math.floor(run.atMs / DAY_MS) * DAY_MS;
    const day = days.get(dayMs) ?? { text: '', endsAtMs: Number.NaN, meanDaW: 0, limit: 0 };
    days.set(dayMs, day);
    if (run.atMs !== day.endsAtMs) {
      day.text += BEGIN + digitsOf((run.atMs - dayMs) / MINUTE_MS);
      day.meanDaW = 0;
      day.limit = 0;
    }
    const limit = run.limitDaW === undefined ? 0 : run.limitDaW + 1;
    // A negative number of minutes: the limit has changed, too.
    day.text += digitsOf(limit === day.limit ? run.minutes : -run.minutes);
    day.text += digitsOf(run.meanDaW - day.meanDaW);
    if (limit !== day.limit) day.text += digitsOf(limit - day.limit);
    day.endsAtMs = run.atMs + run.minutes * MINUTE_MS;
    day.meanDaW = run.meanDaW;
    day.limit = limit;
  }
  return new Map([...days].map(([dayMs, { text }]) => [dayMs, text]));
}

/** The runs of a day in the order of their writes: of equal minutes the last counts. */
export function unpacked(dayMs: EpochMs, text: string): readonly MinuteRun[] {
  return text
    .split(BEGIN)
    .slice(1)
    .flatMap((part) => {
      const numbers = numbersOf(part);
      const runs: MinuteRun[] = [];
      let [minute = MINUTES_OF_DAY, meanDaW, limit] = [numbers[0], 0, 0];
      for (let place = 1; place + 1 < numbers.length && minute < MINUTES_OF_DAY; ) {
        const minutes = numbers[place++] ?? 0;
        meanDaW += numbers[place++] ?? 0;
        if (minutes < 0) limit += numbers[place++] ?? 0;
        const limitDaW = limit === 0 ? undefined : limit - 1;
        runs.push({ atMs: dayMs + minute * MINUTE_MS, minutes: Math.abs(minutes), meanDaW, limitDaW });
        minute += Math.abs(minutes);
      }
      return runs;
    });
}

/** A run over midnight is two. */
function byDay(run: MinuteRun): readonly MinuteRun[] {
  const midnightMs = Math.floor(run.atMs / DAY_MS + 1) * DAY_MS;
  const before = (midnightMs - run.atMs) / MINUTE_MS;
  if (run.minutes <= before) return [run];
  return [{ ...run, minutes: before }, ...byDay({ ...run, atMs: midnightMs, minutes: run.minutes - before })];
}

/** The sign is the lowest bit. */
function digitsOf(value: number): string {
  let rest = Math.min(Math.abs(value), LARGEST) * 2 + (value < 0 ? 1 : 0);
  let text = '';
  do {
    const bits = rest % FIVE_BITS;
    rest = Math.floor(rest / FIVE_BITS);
    text += DIGITS.charAt(rest > 0 ? bits + FIVE_BITS : bits);
  } while (rest > 0);
  return text;
}

function numbersOf(text: string): readonly number[] {
  const numbers: number[] = [];
  let [sum, weight] = [0, 1];
  for (const digit of text) {
    const bits = PLACES.get(digit) ?? 0;
    sum += (bits % FIVE_BITS) * weight;
    weight *= FIVE_BITS;
    if (bits >= FIVE_BITS && weight < LARGEST * FIVE_BITS) continue;
    const size = Math.floor(sum / 2);
    numbers.push(sum % 2 === 1 ? -size : size);
    [sum, weight] = [0, 1];
  }
  return numbers;
}
