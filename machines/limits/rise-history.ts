// How far a load rises while chargers follow it, learnt from its own past: what has to be kept free beside it.

/** Of all seconds of its past, in this part the load rose by no more than the reserve while chargers followed. */
export const RESERVE_QUANTILE = 0.999;

const BINS = 200;
/** Before this much of its past is known, the most is kept free. */
const LEARNT_AFTER_S = 3_600;
/** What was seen this long ago counts half. */
const HALF_LIFE_S = 7 * 86_400;
const FORGET_EVERY_S = 3_600;

/** Any unit; `least` and `most` are the bounds of the reserve. */
export class RiseHistory {
  readonly #least: number;
  readonly #most: number;
  readonly #binWidth: number;
  /** How many seconds the load was about to rise by as much as each bin says; the last one has all that is more. */
  readonly #seconds = new Float64Array(BINS + 1);
  #totalS = 0;
  #seenS = 0;
  #unforgottenS = 0;

  constructor(least: number, most: number) {
    this.#least = least;
    this.#most = most;
    this.#binWidth = Math.max(most, 1e-9) / BINS;
  }

  /** For `lastedS` the load was about to rise by `rise` within the time chargers take to follow. */
  add(rise: number, lastedS: number): void {
    const bin = Math.min(Math.max(Math.ceil(rise / this.#binWidth), 0), BINS);
    this.#seconds[bin] = (this.#seconds[bin] ?? 0) + lastedS;
    this.#totalS += lastedS;
    this.#seenS += lastedS;
    this.#unforgottenS += lastedS;
    if (this.#unforgottenS >= FORGET_EVERY_S) this.#forget();
  }

  get isLearnt(): boolean {
    return this.#seenS >= LEARNT_AFTER_S;
  }

  /** The quantile of the rises, between least and most; the most before it is learnt. */
  get reserve(): number {
    if (!this.isLearnt) return this.#most;
    let beyondS = (1 - RESERVE_QUANTILE) * this.#totalS;
    let bin = BINS;
    while (bin > 0 && (this.#seconds[bin] ?? 0) <= beyondS) {
      beyondS -= this.#seconds[bin] ?? 0;
      bin--;
    }
    return Math.min(Math.max(bin * this.#binWidth, this.#least), this.#most);
  }

  #forget(): void {
    const kept = 2 ** (-this.#unforgottenS / HALF_LIFE_S);
    this.#unforgottenS = 0;
    this.#totalS = 0;
    for (const [bin, seconds] of this.#seconds.entries()) {
      this.#seconds[bin] = seconds * kept;
      this.#totalS += seconds * kept;
    }
  }
}
