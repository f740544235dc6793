// Transaction ids that a gateway assigns to one charger in OCPP 1.6. They
// rise over connections and restarts of the gateway.

/** Ids are seconds since this instant: so they exceed all earlier ids, even if the gateway lost its files. */
const IDS_SINCE_MS = Date.UTC(2025, 0, 1);
const MOST_STARTS = 20;

export class TransactionIds {
  #last: number;
  readonly #keep: (id: number) => void;
  /**
   * By the content of the start: a charger that missed the answer repeats the start, usually on its next connection.
   */
  readonly #begun = new Map<string, number>();

  /**
   * @param last the id that was assigned last
   * @param keep stores each id before it is assigned
   */
  constructor(last: number | undefined, keep: (id: number) => void) {
    this.#last = last ?? 0;
    this.#keep = keep;
  }

  /** @param said the content that identifies a start */
  idOf(said: string, nowMs: number): number {
    const id = this.#begun.get(said) ?? this.#next(nowMs);
    this.#begun.delete(said);
    this.#begun.set(said, id);
    const [oldest] = this.#begun.keys();
    if (this.#begun.size > MOST_STARTS && oldest !== undefined) this.#begun.delete(oldest);
    return id;
  }

  /**
   * The charger received this id, so it does not repeat the start. An equal start is
   * another one, of a charger without clock and meter.
   */
  ended(id: number): void {
    for (const [said, begun] of this.#begun) if (begun === id) this.#begun.delete(said);
  }

  /** Starts that were queued offline arrive several a second: then ids run ahead of the seconds. */
  #next(nowMs: number): number {
    this.#last = Math.max(this.#last + 1, Math.floor((nowMs - IDS_SINCE_MS) / 1000));
    this.#keep(this.#last);
    return this.#last;
  }
}
