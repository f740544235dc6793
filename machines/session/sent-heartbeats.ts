// Newest heartbeats that a gateway sent for a connector: a limit counts from the one that it answers.

export interface SentHeartbeat {
  /** Lower bound of the charger's clock at sending, so that no lease ends late; undefined if unknown. */
  readonly ownMs: number | undefined;
  readonly sentAtMs: number;
}

const REMEMBERED = 64;

/** Plain numbers in a ring: a gateway has one for each connector of thousands. */
export class SentHeartbeats {
  readonly #ownMs = new Float64Array(REMEMBERED);
  readonly #sentAtMs = new Float64Array(REMEMBERED);
  #hb = 0;
  /** Heartbeats up to this number are forgotten. */
  #forgottenHb = 0;

  /** Number of the newest; 0 before the first of this boot. */
  get hb(): number {
    return this.#hb;
  }

  /** @returns the number of the heartbeat that leaves now */
  note(ownMs: number | undefined, nowMs: number): number {
    const hb = ++this.#hb;
    this.#ownMs[hb % REMEMBERED] = ownMs ?? Number.NaN;
    this.#sentAtMs[hb % REMEMBERED] = nowMs;
    return hb;
  }

  get(hb: number): SentHeartbeat | undefined {
    if (hb <= Math.max(this.#forgottenHb, this.#hb - REMEMBERED) || hb > this.#hb) return undefined;
    const ownMs = this.#ownMs[hb % REMEMBERED] ?? Number.NaN;
    const sentAtMs = this.#sentAtMs[hb % REMEMBERED] ?? Number.NaN;
    return { ownMs: Number.isNaN(ownMs) ? undefined : ownMs, sentAtMs };
  }

  /** No lease may count from earlier heartbeats any more; numbers go on. */
  forget(): void {
    this.#forgottenHb = this.#hb;
  }

  restart(): void {
    this.#hb = 0;
    this.#forgottenHb = 0;
  }
}
