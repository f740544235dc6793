// The newest heartbeats that a gateway said for a connector: a limit counts from the one that it answers.

export interface SentHeartbeat {
  /** What the charger's clock read at the least when it was sent, so that no lease ends late; undefined where that is not known. */
  readonly ownMs: number | undefined;
  readonly sentAtMs: number;
}

const REMEMBERED = 64;

/** Plain numbers in a ring: a gateway has one for each connector of thousands. */
export class SentHeartbeats {
  readonly #ownMs = new Float64Array(REMEMBERED);
  readonly #sentAtMs = new Float64Array(REMEMBERED);
  #hb = 0;
  /** What was sent up to this one is forgotten. */
  #forgottenHb = 0;

  /** The number of the newest; 0 before the first of this boot. */
  get hb(): number {
    return this.#hb;
  }

  /** One leaves now. @returns its number */
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

  /** No lease may count from those any more; numbers go on. */
  forget(): void {
    this.#forgottenHb = this.#hb;
  }

  /** Numbers begin anew. */
  restart(): void {
    this.#hb = 0;
    this.#forgottenHb = 0;
  }
}
