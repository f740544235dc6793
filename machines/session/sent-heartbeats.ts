// The newest heartbeats that a gateway said for a connector: a limit counts from the one that it answers.

export interface SentHeartbeat {
  /** What the charger's clock read at the most when it was sent; undefined where that is not known. */
  readonly ownMs: number | undefined;
  readonly sentAtMs: number;
}

const REMEMBERED = 64;

export class SentHeartbeats {
  readonly #sent = new Map<number, SentHeartbeat>();
  #hb = 0;

  /** The number of the newest; 0 before the first of this boot. */
  get hb(): number {
    return this.#hb;
  }

  /** One leaves now. @returns its number */
  note(ownMs: number | undefined, nowMs: number): number {
    const hb = ++this.#hb;
    this.#sent.set(hb, { ownMs, sentAtMs: nowMs });
    this.#sent.delete(hb - REMEMBERED);
    return hb;
  }

  get(hb: number): SentHeartbeat | undefined {
    return this.#sent.get(hb);
  }

  /** No lease may count from those any more; numbers go on. */
  forget(): void {
    this.#sent.clear();
  }

  /** Numbers begin anew. */
  restart(): void {
    this.#hb = 0;
    this.#sent.clear();
  }
}
