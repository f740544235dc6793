// Tracks which messages to the service are surely on disk: nothing is written while its database takes no writes.

/** Received data is on disk after this time, if the database takes writes. */
const STORED_WITHIN_MS = 1_000;

export class Disk {
  readonly #heartbeatMs: number;
  #isBusy = false;
  #busySinceMs = Number.NEGATIVE_INFINITY;
  /** By then everything received while the database was busy is written. */
  #caughtUpAtMs = Number.NEGATIVE_INFINITY;

  /** @param heartbeatMs delay after which a failed write is tried again */
  constructor(heartbeatMs: number) {
    this.#heartbeatMs = heartbeatMs;
  }

  /** The database takes no writes. */
  get isBusy(): boolean {
    return this.#isBusy;
  }

  setBusy(isBusy: boolean, nowMs: number): void {
    if (isBusy === this.#isBusy) return;
    this.#isBusy = isBusy;
    if (!isBusy) this.#caughtUpAtMs = nowMs + this.#heartbeatMs + STORED_WITHIN_MS;
    else if (nowMs >= this.#caughtUpAtMs) this.#busySinceMs = nowMs;
  }

  /** Everything received before the returned instant is on disk at `nowMs`. */
  storedUntilMs(nowMs: number): number {
    const isBehind = this.#isBusy || nowMs < this.#caughtUpAtMs;
    return (isBehind ? this.#busySinceMs : nowMs) - STORED_WITHIN_MS;
  }
}
