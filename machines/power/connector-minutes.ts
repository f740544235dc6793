// Mean power and limit of a connector by the minute, until they are written: each value counts by its duration.
import type { EpochMs } from '../values/time.js';

export const MINUTE_MS = 60_000;
/** A kill loses at most so many minutes. */
const WRITTEN_EVERY = 15;

/** Minutes in a row with the same values. Powers in daW (10 W), so that most changes take one digit on disk. */
export interface MinuteRun {
  /** Start of the first minute. */
  readonly atMs: EpochMs;
  readonly minutes: number;
  readonly meanDaW: number;
  /** Mean of the limit while one was in force; undefined without one. */
  readonly limitDaW: number | undefined;
}

/** Times of the monotonic clock in ms, powers in W, sums in W ms. */
export class ConnectorMinutes {
  #sinceMs = 0;
  /** The reading counts until then. */
  #freshUntilMs = Number.NEGATIVE_INFINITY;
  #powerW = 0;
  #limitW: number | undefined;
  #powerWms = 0;
  #limitWms = 0;
  #lastedMs = 0;
  #limitedMs = 0;
  #runs: MinuteRun[] = [];
  #waited = 0;
  #hasWaited = false;

  /** Minutes that may be on no disk, the oldest first: at most as many as are written together. */
  get unwritten(): readonly MinuteRun[] {
    return this.#runs;
  }

  /** Records power and limit from `nowMs` on. The power counts for at most `staleAfterMs`. */
  note(powerW: number, limitW: number | undefined, nowMs: number, staleAfterMs: number): void {
    this.noteLimit(limitW, nowMs);
    this.#powerW = powerW;
    this.#freshUntilMs = nowMs + staleAfterMs;
  }

  noteLimit(limitW: number | undefined, nowMs: number): void {
    this.#passTime(nowMs);
    this.#limitW = limitW;
  }

  /** The power is unknown from `nowMs` on. */
  lose(nowMs: number): void {
    this.#passTime(nowMs);
    this.#freshUntilMs = Number.NEGATIVE_INFINITY;
  }

  /** Completes the minute that began at `atMs`. A minute without a fresh reading is left out. */
  end(atMs: EpochMs, nowMs: number): void {
    this.#passTime(nowMs);
    if (this.#lastedMs > 0)
      this.#add({
        atMs,
        minutes: 1,
        meanDaW: daWOf(this.#powerWms / this.#lastedMs),
        limitDaW: this.#limitedMs > 0 ? daWOf(this.#limitWms / this.#limitedMs) : undefined,
      });
    this.#powerWms = 0;
    this.#limitWms = 0;
    this.#lastedMs = 0;
    this.#limitedMs = 0;
    if (this.#runs.length > 0) this.#waited++;
  }

  /** @param nth number of the connector: the first writes of many are spread over the minutes, and so are all others */
  isDue(nth: number): boolean {
    return this.#waited >= (this.#hasWaited ? WRITTEN_EVERY : 1 + (nth % WRITTEN_EVERY));
  }

  /** The minutes that are on no disk. The caller writes them. */
  take(): readonly MinuteRun[] {
    const runs = this.#runs;
    this.#runs = [];
    this.#waited = 0;
    this.#hasWaited = true;
    return runs;
  }

  #add(minute: MinuteRun): void {
    const last = this.#runs.at(-1);
    const goesOn =
      last !== undefined &&
      last.atMs + last.minutes * MINUTE_MS === minute.atMs &&
      last.meanDaW === minute.meanDaW &&
      last.limitDaW === minute.limitDaW;
    if (goesOn) this.#runs[this.#runs.length - 1] = { ...last, minutes: last.minutes + 1 };
    else this.#runs.push(minute);
  }

  #passTime(nowMs: number): void {
    const elapsedMs = Math.min(nowMs, this.#freshUntilMs) - this.#sinceMs;
    if (elapsedMs > 0) {
      this.#powerWms += this.#powerW * elapsedMs;
      this.#lastedMs += elapsedMs;
      if (this.#limitW !== undefined) {
        this.#limitWms += this.#limitW * elapsedMs;
        this.#limitedMs += elapsedMs;
      }
    }
    this.#sinceMs = Math.max(this.#sinceMs, nowMs);
  }
}

function daWOf(w: number): number {
  return Math.round(w / 10);
}
