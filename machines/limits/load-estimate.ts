// Estimates the load of a site beside its chargers, from a meter that may count both. It is safe if either is late.
import type { EpochMs } from '../values/time.js';
import { type RiseBounds, RiseHistory } from './rise-history.js';

/** Draw of the chargers behind a meter, in the meter's unit; all 0 if the meter does not count them. */
export interface ChargersDraw {
  /** Lower bound, by the newest reports. */
  readonly measured: number;
  /** Upper bound: the entitlement. */
  readonly most: number;
}

interface Entry {
  readonly atMs: EpochMs;
  metered: number;
  measured: number;
  most: number;
  /** Set once every charger has reported since the reading. */
  load: number | undefined;
  /** Counted load from the reading on. */
  counted: number;
  /** Highest load within the time that chargers need to follow. */
  highestAfter: number;
  readonly isTrusted: boolean;
}

/** A load that falls counts on for this long: it may rise again, and a late report makes it look lower. */
const FALLS_AFTER_MS = 60_000;
/** A reading does not wait longer for a charger's report: the charger soon counts as silent. */
const CONFIRMED_AFTER_MS = 15_000;
/** Readings in quicker succession are taken together. */
const TOGETHER_MS = 500;
/** Reachable chargers follow a lower limit within this time. */
export const FOLLOWED_AFTER_MS = 15_000;

export interface LoadOptions {
  /** The counted load is rounded up to a multiple of this. */
  readonly step: number;
  /** Bounds of the reserve beside the load, and the highest load. */
  readonly bounds: RiseBounds;
}

export class LoadEstimate {
  readonly #step: number;
  readonly #rises: RiseHistory;
  #entries: Entry[] = [];
  #receivedAtMs: EpochMs = 0;
  /** Chargers have had time to follow a rise that comes later than this after a reading. */
  #followedMs = FOLLOWED_AFTER_MS;

  constructor({ step, bounds }: LoadOptions) {
    this.#step = step;
    this.#rises = new RiseHistory(bounds);
  }

  /** Reserve beside the counted load, at the time of day of the last reading. */
  get reserve(): number {
    return this.#rises.reserveAt(this.#receivedAtMs, this.counted ?? 0);
  }

  get isLearnt(): boolean {
    return this.#rises.isLearnt;
  }

  /** Some charger has not reported since the last reading. */
  get isUnconfirmed(): boolean {
    return this.#entries.at(-1)?.load === undefined && this.#entries.length > 0;
  }

  /**
   * @param cadenceMs interval between readings
   * @param isTrusted false: the reading may be wrong, so it teaches no rise
   */
  receive(
    metered: number,
    { measured, most }: ChargersDraw,
    now: EpochMs,
    cadenceMs: number,
    isTrusted = true,
  ): void {
    this.#receivedAtMs = now;
    const last = this.#entries.at(-1);
    if (last !== undefined && last.load === undefined && now - last.atMs < TOGETHER_MS) {
      if (metered - measured > last.metered - last.measured) Object.assign(last, { metered, measured, most });
      return;
    }
    this.#followedMs = cadenceMs + FOLLOWED_AFTER_MS;
    const entry: Entry = {
      atMs: now,
      metered,
      measured,
      most,
      load: undefined,
      counted: 0,
      highestAfter: Number.NEGATIVE_INFINITY,
      isTrusted,
    };
    this.#entries.push(entry);
    this.#forget(now, cadenceMs);
    entry.counted = this.counted ?? 0;
  }

  /**
   * Every charger has reported since `reportedSinceMs`, and they draw `measured` now. A charger that changed between
   * its two reports drew one or the other value. The load is the lower of the two results.
   */
  confirm(measured: number, reportedSinceMs: EpochMs, now: EpochMs): void {
    for (const entry of this.#entries) {
      if (entry.load !== undefined) continue;
      if (entry.atMs > reportedSinceMs && now - entry.atMs < CONFIRMED_AFTER_MS) continue;
      const load = entry.metered - Math.max(entry.measured, measured);
      entry.load = load;
      for (const before of this.#entries) {
        if (before.atMs >= entry.atMs) break;
        if (entry.atMs - before.atMs > this.#followedMs) continue;
        before.highestAfter = Math.max(before.highestAfter, load);
      }
    }
  }

  /**
   * Counted load: the recent maximum. Until every charger has reported, a reading counts only beyond the chargers'
   * entitlement. That part shows any import above the connection at once (site-meter.md). Undefined before the first
   * reading.
   */
  get counted(): number | undefined {
    if (this.#entries.length === 0) return undefined;
    let highest = Number.NEGATIVE_INFINITY;
    const isAnyConfirmed = this.#entries.some(({ load }) => load !== undefined);
    for (const { metered, measured, most, load } of this.#entries) {
      const pending = metered - (isAnyConfirmed ? Math.max(most, measured) : measured);
      highest = Math.max(highest, load ?? pending);
    }
    return Math.ceil(highest / this.#step - 1e-9) * this.#step;
  }

  /** Forgets the readings, and keeps the learnt rises. */
  clear(): void {
    this.#entries = [];
  }

  /** The clock went back; readings keep their age. */
  shift(byMs: number): void {
    this.#entries = this.#entries.map((entry) => ({ ...entry, atMs: entry.atMs + byMs }));
  }

  /** Drops readings that are too old to count, and learns from them. */
  #forget(now: EpochMs, cadenceMs: number): void {
    const keptMs = Math.max(FALLS_AFTER_MS, 2 * cadenceMs) + TOGETHER_MS;
    const firstKept = this.#entries.findIndex(({ atMs }) => now - atMs <= keptMs);
    for (let i = 0; i < firstKept; i++) {
      const [entry, next] = [this.#entries[i], this.#entries[i + 1]];
      if (entry === undefined || next === undefined || !entry.isTrusted) continue;
      const lastedMs = Math.min(next.atMs - entry.atMs, this.#followedMs);
      const height = Math.max(entry.highestAfter, entry.counted);
      this.#rises.add({ rise: height - entry.counted, height }, lastedMs / 1000, entry.atMs);
    }
    this.#entries.splice(0, firstKept);
  }
}
