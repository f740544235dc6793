// The clock of a virtual OCPP charger: it runs fast or slow, and can be set.

/** What `trueAt` rounded up must not be a millisecond before it again. */
const ROUNDING_MS = 1e-6;

/** `nowMs` are instants of a true monotonic clock; `own` those that the charger's clock shows, epoch ms. */
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

  /** From when on it shows that instant. */
  trueAt(ownMs: number): number {
    return Math.ceil(this.#setAtMs + (ownMs - this.#setToMs) * this.#secondLastsS);
  }

  /** What it writes on its messages: whole seconds. */
  secondAt(nowMs: number): string {
    return new Date(1000 * Math.floor(this.ownAt(nowMs) / 1000)).toISOString();
  }
}
