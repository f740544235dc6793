// The database's clock, by which ownership leases end: PostgreSQL's own, or that of the host of an SQLite file.
import type { Knex } from 'knex';
import type { Clock } from '../../ports/clock.js';
import { ClockDifferenceError } from '../../ports/ownership.js';
import { engineOf } from './engine.js';

const APART_AT_MOST_MS = 2_000;

export class DatabaseClock {
  readonly #knex: Knex;
  readonly #clock: Clock;
  readonly #hostClock: Clock;

  /** @param hostClock clock of the database's host for SQLite, which has none of its own */
  constructor(knex: Knex, { clock, hostClock }: { readonly clock: Clock; readonly hostClock: Clock }) {
    this.#knex = knex;
    this.#clock = clock;
    this.#hostClock = hostClock;
  }

  /** SQL expression: ms since 1970, `delayMs` from now. */
  inMs(delayMs: number): Knex.Raw {
    return engineOf(this.#knex) === 'postgres'
      ? this.#knex.raw('(extract(epoch from clock_timestamp()) * 1000)::bigint + ?', [delayMs])
      : this.#knex.raw('?', [this.#hostClock.nowMs() + delayMs]);
  }

  /**
   * The database's clock is read between two readings of this node's clock: so the answer's delay does not count.
   * @throws ClockDifferenceError if the two differ by more than 2 s.
   */
  async check(): Promise<void> {
    const fromMs = this.#clock.nowMs();
    const { now_ms }: { now_ms: number } = await this.#knex('owner').first({ now_ms: this.inMs(0) });
    const untilMs = this.#clock.nowMs();
    const apartMs = Math.max(now_ms - untilMs, fromMs - now_ms);
    if (apartMs > APART_AT_MOST_MS)
      throw new ClockDifferenceError(
        `this node's clock and the database's differ by ${(apartMs / 1000).toFixed(1)} s, and may by ${APART_AT_MOST_MS / 1000} s: synchronize both (NTP)`,
      );
  }
}
