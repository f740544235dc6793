// What of that which a service heard is surely on disk: nothing is written while its database takes no writes.

/** What it heard is on disk by then, where that can be written. */
const STORED_WITHIN_MS = 1_000;

export class Disk {
  readonly #heartbeatMs: number;
  #isBusy = false;
  #busySinceMs = Number.NEGATIVE_INFINITY;
  /** By then all is written that was heard while it was busy. */
  #caughtUpAtMs = Number.NEGATIVE_INFINITY;

  /** @param heartbeatMs what could not be written is tried again so much later */
  constructor(heartbeatMs: number) {
    this.#heartbeatMs = heartbeatMs;
  }

  /** It takes no writes. */
  get isBusy(): boolean {
    return this.#isBusy;
  }

  setBusy(isBusy: boolean, nowMs: number): void {
    if (isBusy === this.#isBusy) return;
    this.#isBusy = isBusy;
    if (!isBusy) this.#caughtUpAtMs = nowMs + this.#heartbeatMs + STORED_WITHIN_MS;
    else if (nowMs >= this.#caughtUpAtMs) this.#busySinceMs = nowMs;
  }

  /** All that was heard before then is on disk at `nowMs`. */
  storedUntilMs(nowMs: number): number {
    const isBehind = this.#isBusy || nowMs < this.#caughtUpAtMs;
    return (isBehind ? this.#busySinceMs : nowMs) - STORED_WITHIN_MS;
  }
}
