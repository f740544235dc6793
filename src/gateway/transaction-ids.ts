// The transaction ids that a gateway gives one charger, in OCPP 1.6: over its connections, and over restarts of the gateway.

/** They are seconds since then: higher than any that a gateway gave before it started again, were its files lost. */
const IDS_SINCE_MS = Date.UTC(2025, 0, 1);
const MOST_STARTS = 20;

export class TransactionIds {
  #last: number;
  readonly #keep: (id: number) => void;
  /** By what was said when it began: a charger that missed the answer says the same again, on its next connection as a rule. */
  readonly #begun = new Map<string, number>();

  /**
   * @param last the one that was given last
   * @param keep each that is given, before it is
   */
  constructor(last: number | undefined, keep: (id: number) => void) {
    this.#last = last ?? 0;
    this.#keep = keep;
  }

  /** @param said all that a start is known by */
  idOf(said: string, nowMs: number): number {
    const id = this.#begun.get(said) ?? this.#next(nowMs);
    this.#begun.delete(said);
    this.#begun.set(said, id);
    const [oldest] = this.#begun.keys();
    if (this.#begun.size > MOST_STARTS && oldest !== undefined) this.#begun.delete(oldest);
    return id;
  }

  /** Its charger knows that id, and says the start no more: what looks the same is another, of a charger without clock and meter. */
  ended(id: number): void {
    for (const [said, begun] of this.#begun) if (begun === id) this.#begun.delete(said);
  }

  /** Starts that were kept back come several a second: then ids run ahead of the seconds. */
  #next(nowMs: number): number {
    this.#last = Math.max(this.#last + 1, Math.floor((nowMs - IDS_SINCE_MS) / 1000));
    this.#keep(this.#last);
    return this.#last;
  }
}
