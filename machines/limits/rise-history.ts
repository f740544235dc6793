// Learns from a load's past how far the load rises while chargers follow: the reserve to keep free beside it.
import type { EpochMs } from '../values/time.js';

/** In this share of its past at this time of day, the load rose by no more than the reserve until chargers followed. */
export const RESERVE_QUANTILE = 0.999;

const BINS = 100;
const HOURS = 24;
const HOUR_MS = 3_600_000;
/** Daily routines, as in a kitchen, are not exact: events of an hour may happen this much earlier or later. */
const EARLY_MS = 1_800_000;
/** With less data than this, the largest reserve is kept free. */
const LEARNT_AFTER_S = 3_600;
/** An hour of the day with less data than this uses the data of all hours together. */
const HOUR_LEARNT_AFTER_S = 1_800;
/** Data of this age counts half. */
const HALF_LIFE_S = 7 * 86_400;
const FORGET_EVERY_S = 3_600;

/** Seconds that a value spent in each bin; the last bin holds all larger values. */
class Histogram {
  readonly #seconds = new Float32Array(BINS + 1);
  readonly #binWidth: number;
  #totalS = 0;

  constructor(binWidth: number) {
    this.#binWidth = binWidth;
  }

  get totalS(): number {
    return this.#totalS;
  }

  add(value: number, lastedS: number): void {
    const bin = Math.min(Math.max(Math.ceil(value / this.#binWidth), 0), BINS);
    this.#seconds[bin] = (this.#seconds[bin] ?? 0) + lastedS;
    this.#totalS += lastedS;
  }

  /** Value exceeded for no longer than the share beyond the quantile; Infinity if it is in the last bin. */
  get quantile(): number {
    let beyondS = (1 - RESERVE_QUANTILE) * this.#totalS;
    let bin = BINS;
    while (bin > 0 && (this.#seconds[bin] ?? 0) <= beyondS) {
      beyondS -= this.#seconds[bin] ?? 0;
      bin--;
    }
    return bin === BINS ? Number.POSITIVE_INFINITY : bin * this.#binWidth;
  }

  keep(share: number): void {
    this.#totalS *= share;
    for (const [bin, seconds] of this.#seconds.entries()) this.#seconds[bin] = seconds * share;
  }
}

/** History of a load within the time that chargers need to follow: its rises and the heights that it reached. */
class Past {
  readonly rises: Histogram;
  readonly heights: Histogram;

  constructor({ most, highest }: RiseBounds) {
    this.rises = new Histogram(Math.max(most, 1e-9) / BINS);
    this.heights = new Histogram(Math.max(highest, 1e-9) / BINS);
  }
}

/** Bounds of one load, in its unit. */
export interface RiseBounds {
  /** Smallest reserve. */
  readonly least: number;
  /** Largest reserve. */
  readonly most: number;
  /** Highest load. */
  readonly highest: number;
}

export class RiseHistory {
  readonly #bounds: RiseBounds;
  readonly #ofDay: Past;
  /** By hour of the day in UTC; an hour without data is absent. */
  readonly #ofHours = new Map<number, Past>();
  #seenS = 0;
  #unforgottenS = 0;

  constructor(bounds: RiseBounds) {
    this.#bounds = bounds;
    this.#ofDay = new Past(bounds);
  }

  /**
   * From `atMs` on, for `lastedS`, the load was about to rise by `rise` to `height`, within the time chargers need to
   * follow.
   */
  add({ rise, height }: { readonly rise: number; readonly height: number }, lastedS: number, atMs: EpochMs) {
    const hour = hourOf(atMs);
    const ofHour = this.#ofHours.get(hour) ?? new Past(this.#bounds);
    this.#ofHours.set(hour, ofHour);
    for (const { rises, heights } of [this.#ofDay, ofHour]) {
      rises.add(rise, lastedS);
      heights.add(height, lastedS);
    }
    this.#seenS += lastedS;
    this.#unforgottenS += lastedS;
    if (this.#unforgottenS >= FORGET_EVERY_S) this.#forget();
  }

  get isLearnt(): boolean {
    return this.#seenS >= LEARNT_AFTER_S;
  }

  /**
   * Reserve beside a load that counts as `counted`: the quantile of its rises at this time of day. The reserve does not
   * reach above the quantile of the load's heights. It lies between least and most, and is the most before enough data.
   */
  reserveAt(now: EpochMs, counted: number): number {
    const { least, most } = this.#bounds;
    if (!this.isLearnt) return most;
    let rise = 0;
    let height = 0;
    for (const hour of new Set([hourOf(now - EARLY_MS), hourOf(now + EARLY_MS)])) {
      const ofHour = this.#ofHours.get(hour);
      const isKnown = ofHour !== undefined && ofHour.rises.totalS >= HOUR_LEARNT_AFTER_S;
      const { rises, heights } = isKnown ? ofHour : this.#ofDay;
      rise = Math.max(rise, rises.quantile);
      height = Math.max(height, heights.quantile);
    }
    return Math.min(Math.max(Math.min(rise, height - counted), least), most);
  }

  #forget(): void {
    const kept = 2 ** (-this.#unforgottenS / HALF_LIFE_S);
    this.#unforgottenS = 0;
    for (const { rises, heights } of [this.#ofDay, ...this.#ofHours.values()]) {
      rises.keep(kept);
      heights.keep(kept);
    }
  }
}

/** Hour of the day, in UTC. */
function hourOf(atMs: EpochMs): number {
  return ((Math.floor(atMs / HOUR_MS) % HOURS) + HOURS) % HOURS;
}
