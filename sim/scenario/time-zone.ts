// Clocks of a time zone: at which instants they show a time that was written without its offset from UTC.
import type { EpochMs } from '../../machines/values/time.js';
import { DAY_MS, parseInstant } from './moment.js';

export const TIME_ZONE_RULE = 'must be the IANA name of a time zone, such as Europe/Berlin';

const OFFSET = /GMT(?:([+-])(\d{2}):(\d{2})(?::(\d{2}))?)?$/;

/** A zone of the IANA database, as Node knows it. */
export class TimeZone {
  readonly #format: Intl.DateTimeFormat;

  private constructor(format: Intl.DateTimeFormat) {
    this.#format = format;
  }

  /** The zone of that name, such as Europe/Berlin; undefined where there is none. */
  static named(name: string): TimeZone | undefined {
    // Some releases of Node take an offset for a zone, others do not.
    if (!/^[a-z]/i.test(name)) return undefined;
    try {
      return new TimeZone(
        new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName: 'longOffset', hourCycle: 'h23' }),
      );
    } catch (error) {
      if (error instanceof RangeError) return undefined;
      throw error;
    }
  }

  /**
   * The first and the last instant at which clocks show a time: the same but for what they show twice as they are put
   * back. A time that they skip as they are put forward is taken as if they had not been: 2:30 is half an hour after 2:00.
   * @param wallMs that time as ms since 1970, as if it were of UTC.
   */
  instantsAt(wallMs: number): readonly [EpochMs, EpochMs] {
    const beforeMs = wallMs - this.#offsetAt(wallMs - DAY_MS);
    const afterMs = wallMs - this.#offsetAt(wallMs + DAY_MS);
    const shown = [beforeMs, afterMs].filter((atMs) => atMs + this.#offsetAt(atMs) === wallMs);
    const [first = beforeMs, last = first] = shown.sort((a, b) => a - b);
    return [first, last];
  }

  #offsetAt(atMs: EpochMs): number {
    const [, sign, ...parts] = OFFSET.exec(this.#format.format(atMs)) ?? [];
    const [hours = 0, minutes = 0, seconds = 0] = parts.map((part) => Number(part ?? 0));
    const ms = 1000 * (3600 * hours + 60 * minutes + seconds);
    return sign === '-' ? -ms : ms;
  }
}

/** A time as somebody wrote it: an instant, or what clocks showed (`wallMs` as in `TimeZone`). */
export type WrittenTime = { readonly atMs: EpochMs } | { readonly wallMs: number };

/** `written` with or without an offset from UTC, its date before `T` or a space; undefined where the calendar has no such time. */
export function parseWrittenTime(written: string): WrittenTime | undefined {
  const text = written.replace(' ', 'T');
  const instant = parseInstant(text);
  if (instant !== undefined) return { atMs: instant.atMs };
  const shown = parseInstant(`${text}Z`);
  return shown && { wallMs: shown.atMs };
}

/** The first and the last instant that `written` may mean; undefined where only a zone could tell. */
export function instantsOf(
  written: WrittenTime,
  zone: TimeZone | undefined,
): readonly [EpochMs, EpochMs] | undefined {
  if ('atMs' in written) return [written.atMs, written.atMs];
  return zone?.instantsAt(written.wallMs);
}
