// The EVSE of each running transaction in OCPP 2.0.1 and 2.1. A charger may name it only in the first event of a
// transaction. So the gateway remembers it over connections and restarts, of the charger and of its own.

export interface TransactionPlace {
  readonly transaction: string;
  readonly evse: number;
}

/** The newest transaction of an EVSE and the one before, of which late events may still come. */
const OF_EACH_EVSE = 2;
/** For each charger. A lost end leaves a place behind, so their number needs a limit. */
const MOST_PLACES = 100;

export class TransactionPlaces {
  #places: readonly TransactionPlace[];
  readonly #keep: (places: readonly TransactionPlace[] | undefined) => void;

  /**
   * @param kept the places that an earlier process kept
   * @param keep is called with all places at each change; undefined if no transaction is left
   */
  constructor(
    kept: readonly TransactionPlace[] | undefined,
    keep: (places: readonly TransactionPlace[] | undefined) => void,
  ) {
    this.#places = kept ?? [];
    this.#keep = keep;
  }

  evseOf(transaction: string): number | undefined {
    return this.#places.find((place) => place.transaction === transaction)?.evse;
  }

  began(transaction: string, evse: number): void {
    if (this.evseOf(transaction) === evse) return;
    const others = this.#places.filter((place) => place.transaction !== transaction);
    const there = others.filter((place) => place.evse === evse);
    const surplus = new Set(there.slice(0, Math.max(0, there.length - OF_EACH_EVSE + 1)));
    const kept = others.filter((place) => !surplus.has(place));
    this.#set([...kept, { transaction, evse }].slice(-MOST_PLACES));
  }

  ended(transaction: string): void {
    if (this.evseOf(transaction) === undefined) return;
    this.#set(this.#places.filter((place) => place.transaction !== transaction));
  }

  #set(places: readonly TransactionPlace[]): void {
    this.#places = places;
    this.#keep(places.length === 0 ? undefined : places);
  }
}
