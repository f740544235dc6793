// Converts between instants and the local times of a time zone, which are written without an offset from UTC.

import type { EpochMs } from './time.js';

export const TIME_ZONE_RULE = 'must be the IANA name of a time zone, such as Europe/Berlin';

const DAY_MS = 86_400_000;
const OFFSET = /GMT(?:([+-])(\d{2}):(\d{2})(?::(\d{2}))?)?$/;

/** By name in lower case. A zone is large and never changes, and there are only some hundreds. */
const KNOWN = new Map<string, TimeZone>();

/** A zone of the IANA database of Node. Local times are ms since 1970, as if they were UTC. */
export class TimeZone {
  readonly #format: Intl.DateTimeFormat;

  private constructor(format: Intl.DateTimeFormat) {
    this.#format = format;
  }

  static get utc(): TimeZone {
    return TimeZone.named('UTC') ?? new TimeZone(formatOf('UTC'));
  }

  /** The zone with that name, such as Europe/Berlin; undefined if there is none. */
  static named(name: string): TimeZone | undefined {
    // Some releases of Node accept an offset as a zone, others do not.
    if (!/^[a-z]/i.test(name)) return undefined;
    const known = KNOWN.get(name.toLowerCase());
    if (known !== undefined) return known;
    try {
      const zone = new TimeZone(formatOf(name));
      KNOWN.set(name.toLowerCase(), zone);
      return zone;
    } catch (error) {
      if (error instanceof RangeError) return undefined;
      throw error;
    }
  }

  /**
   * The first and the last instant at which clocks show a local time. They differ only for a time that clocks show
   * twice, because the clocks went back. A time that clocks skip counts as if they had not gone forward: 2:30 is half
   * an hour after 2:00.
   */
  instantsAt(wallMs: number): readonly [EpochMs, EpochMs] {
    const beforeMs = wallMs - this.#offsetAt(wallMs - DAY_MS);
    const afterMs = wallMs - this.#offsetAt(wallMs + DAY_MS);
    const shown = [beforeMs, afterMs].filter((atMs) => this.wallMsAt(atMs) === wallMs);
    const [first = beforeMs, last = first] = shown.sort((a, b) => a - b);
    return [first, last];
  }

  /** The local time that clocks show at an instant. */
  wallMsAt(atMs: EpochMs): number {
    return atMs + this.#offsetAt(atMs);
  }

  /** The begin of the day of an instant, and the same midnight as if it were UTC. */
  dayAt(atMs: EpochMs): { readonly startsAtMs: EpochMs; readonly midnightMs: number } {
    const midnightMs = Math.floor(this.wallMsAt(atMs) / DAY_MS) * DAY_MS;
    return { startsAtMs: this.instantsAt(midnightMs)[0], midnightMs };
  }

  #offsetAt(atMs: EpochMs): number {
    const [, sign, ...parts] = OFFSET.exec(this.#format.format(atMs)) ?? [];
    const [hours = 0, minutes = 0, seconds = 0] = parts.map((part) => Number(part ?? 0));
    const ms = 1000 * (3600 * hours + 60 * minutes + seconds);
    return sign === '-' ? -ms : ms;
  }
}

/** @throws RangeError if there is no such zone */
function formatOf(timeZone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset', hourCycle: 'h23' });
}
