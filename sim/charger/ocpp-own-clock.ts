// The clock of a virtual OCPP charger: it runs fast or slow, and can be set.

/** `trueAt` rounds up; `ownAt` of its result must not be a millisecond before the instant again. */
const ROUNDING_MS = 1e-6;

/** `nowMs` are instants of a true monotonic clock; names with `own` are epoch ms that the charger's clock shows. */
export class OcppOwnClock {
  readonly #secondLastsS: number;
  #setToMs: number;
  #setAtMs: number;

  constructor(options: { readonly ownMs: number; readonly nowMs: number; readonly driftShare: number }) {
    this.#setToMs = options.ownMs;
    this.#setAtMs = options.nowMs;
    this.#secondLastsS = 1 + options.driftShare;
  }

  set(ownMs: number, nowMs: number): void {
    this.#setToMs = ownMs;
    this.#setAtMs = nowMs;
  }

  ownAt(nowMs: number): number {
    return Math.floor(this.#setToMs + (nowMs - this.#setAtMs) / this.#secondLastsS + ROUNDING_MS);
  }

  /** True instant from which its clock shows `ownMs`. */
  trueAt(ownMs: number): number {
    return Math.ceil(this.#setAtMs + (ownMs - this.#setToMs) * this.#secondLastsS);
  }

  /** Timestamp for its messages, in whole seconds. */
  secondAt(nowMs: number): string {
    return new Date(1000 * Math.floor(this.ownAt(nowMs) / 1000)).toISOString();
  }
}
