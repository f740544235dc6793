// Converts local times of a time zone, written without a UTC offset, to instants.
import type { EpochMs } from '../../machines/values/time.js';
import { DAY_MS, parseInstant } from './moment.js';

export const TIME_ZONE_RULE = 'must be the IANA name of a time zone, such as Europe/Berlin';

const OFFSET = /GMT(?:([+-])(\d{2}):(\d{2})(?::(\d{2}))?)?$/;

/** A zone of the IANA database of Node. */
export class TimeZone {
  readonly #format: Intl.DateTimeFormat;

  private constructor(format: Intl.DateTimeFormat) {
    this.#format = format;
  }

  /** The zone with that name, such as Europe/Berlin; undefined if there is none. */
  static named(name: string): TimeZone | undefined {
    // Some releases of Node accept an offset as a zone, others do not.
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
   * The first and the last instant at which clocks show a local time. They differ only for a time that clocks show
   * twice, because the clocks went back. A time that clocks skip counts as if they had not gone forward: 2:30 is half
   * an hour after 2:00.
   * @param wallMs the local time as ms since 1970, as if it were UTC.
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

/** A time in a file: an instant, or a local time (`wallMs` as in `TimeZone`). */
export type WrittenTime = { readonly atMs: EpochMs } | { readonly wallMs: number };

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
