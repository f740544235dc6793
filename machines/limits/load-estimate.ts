// What the rest of a site draws beside its chargers, from a meter that may count both: safe while either is late.
import type { EpochMs } from '../values/time.js';
import { type RiseBounds, RiseHistory } from './rise-history.js';

/** What the chargers behind a meter draw, in the meter's unit; all 0 where it does not count them. */
export interface ChargersDraw {
  /** At least this much, by their newest reports. */
  readonly measured: number;
  /** At most this much: what they may be entitled to. */
  readonly most: number;
}

interface Entry {
  readonly atMs: EpochMs;
  metered: number;
  measured: number;
  most: number;
  /** Once every charger has reported since. */
  load: number | undefined;
  /** What the load counted as from then on. */
  counted: number;
  /** The highest the load was seen at within the time chargers take to follow. */
  highestAfter: number;
}

/** A load that falls counts as before for this long: it may rise again, and a report that came late makes it look lower. */
const FALLS_AFTER_MS = 60_000;
/** A charger that has not reported by then is not waited for: it soon counts as silent. */
const CONFIRMED_AFTER_MS = 15_000;
/** Readings that come faster are taken together. */
const TOGETHER_MS = 500;
/** Chargers that can be reached follow a lower limit within this time. */
export const FOLLOWED_AFTER_MS = 15_000;

export interface LoadOptions {
  /** What it counts as is rounded up to this. */
  readonly step: number;
  /** Bounds of what is kept free beside it, and how high it can come. */
  readonly bounds: RiseBounds;
}

export class LoadEstimate {
  readonly #step: number;
  readonly #rises: RiseHistory;
  #entries: Entry[] = [];
  #heardAtMs: EpochMs = 0;
  /** A rise later than this after a reading is one that chargers have had time to follow. */
  #followedMs = FOLLOWED_AFTER_MS;

  constructor({ step, bounds }: LoadOptions) {
    this.#step = step;
    this.#rises = new RiseHistory(bounds);
  }

  /** What may have to be kept free beside what it counts as, at the time of day of its last reading. */
  get reserve(): number {
    return this.#rises.reserveAt(this.#heardAtMs, this.counted ?? 0);
  }

  get isLearnt(): boolean {
    return this.#rises.isLearnt;
  }

  /** Readings that not every charger has reported after. */
  get isUnconfirmed(): boolean {
    return this.#entries.at(-1)?.load === undefined && this.#entries.length > 0;
  }

  /** @param cadenceMs how often readings come */
  hear(metered: number, { measured, most }: ChargersDraw, now: EpochMs, cadenceMs: number): void {
    this.#heardAtMs = now;
    const last = this.#entries.at(-1);
    if (last !== undefined && last.load === undefined && now - last.atMs < TOGETHER_MS) {
      if (metered - measured > last.metered - last.measured) Object.assign(last, { metered, measured, most });
      return;
    }
    this.#followedMs = cadenceMs + FOLLOWED_AFTER_MS;
    const highestAfter = Number.NEGATIVE_INFINITY;
    const entry: Entry = { atMs: now, metered, measured, most, load: undefined, counted: 0, highestAfter };
    this.#entries.push(entry);
    this.#forget(now, cadenceMs);
    entry.counted = this.counted ?? 0;
  }

  /**
   * Every charger has reported since `reportedSinceMs`, and they draw `measured` now. A charger that changed between its two
   * reports drew one or the other: the load is the lower of the two that follow from it.
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
   * What the load counts as: the most it was lately. A reading that chargers may explain counts only as far as they cannot,
   * until they have reported: by more than that, no import could exceed what they are held to. undefined before the first.
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

  /** Forgets its readings, not what was learnt. */
  clear(): void {
    this.#entries = [];
  }

  /** The clock went back: what was heard stays as old as it was. */
  shift(byMs: number): void {
    this.#entries = this.#entries.map((entry) => ({ ...entry, atMs: entry.atMs + byMs }));
  }

  /** Lets go of what is too old to count, and learns from it. */
  #forget(now: EpochMs, cadenceMs: number): void {
    const keptMs = Math.max(FALLS_AFTER_MS, 2 * cadenceMs) + TOGETHER_MS;
    const firstKept = this.#entries.findIndex(({ atMs }) => now - atMs <= keptMs);
    for (let i = 0; i < firstKept; i++) {
      const [entry, next] = [this.#entries[i], this.#entries[i + 1]];
      if (entry === undefined || next === undefined) continue;
      const lastedMs = Math.min(next.atMs - entry.atMs, this.#followedMs);
      const height = Math.max(entry.highestAfter, entry.counted);
      this.#rises.add({ rise: height - entry.counted, height }, lastedMs / 1000, entry.atMs);
    }
    this.#entries.splice(0, firstKept);
  }
}
