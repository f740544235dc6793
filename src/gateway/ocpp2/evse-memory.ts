// State of the EVSEs of a charger with OCPP 2.0.1 or 2.1 that outlasts a connection, because the charger does not repeat
// it: the EVSE of each running transaction, and the use of each EVSE.
import type { ChargingStatus } from '../../../machines/values/charging-status.js';

export interface TransactionPlace {
  readonly transaction: string;
  readonly evse: number;
}

/** The newest transaction of an EVSE and the one before, of which late events may still come. */
const OF_EACH_EVSE = 2;
/** For each charger. A lost end leaves a place behind, so their number needs a limit. */
const MOST_PLACES = 100;

/**
 * A charger may name the EVSE only in the first event of a transaction. So the gateway remembers it over connections and
 * restarts, of the charger and of its own.
 */
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

export class EvseUses {
  /** Charging state of the car at an EVSE. */
  readonly #stateAt = new Map<number, ChargingStatus>();
  /** Connector at which the car of an EVSE is. A free status of another connector does not change the EVSE. */
  readonly #usedAt = new Map<number, number>();

  /** The EVSE's status by the status of one connector: an EVSE charges at one of its connectors at a time. */
  receivedStatus(evseId: number, connectorId: number, word: string): ChargingStatus {
    return this.#statusOf(evseId, this.#wordOfEvse(evseId, connectorId, word));
  }

  receivedState(evseId: number, status: ChargingStatus): void {
    this.#stateAt.set(evseId, status);
  }

  receivedConnector(evseId: number, connectorId: number): void {
    this.#usedAt.set(evseId, connectorId);
  }

  /** The charger has started again, or uses another version: earlier reports no longer count. */
  forget(): void {
    this.#stateAt.clear();
    this.#usedAt.clear();
  }

  #wordOfEvse(evseId: number, connectorId: number, word: string): string {
    if (word === 'Occupied') this.#usedAt.set(evseId, connectorId);
    else if ((this.#usedAt.get(evseId) ?? connectorId) !== connectorId) return 'Occupied';
    else if (word === 'Available' || word === 'Reserved') this.#usedAt.delete(evseId);
    return word;
  }

  #statusOf(evseId: number, word: string): ChargingStatus {
    if (word === 'Unavailable' || word === 'Faulted') return word;
    if (word === 'Occupied') return this.#stateAt.get(evseId) ?? 'Preparing';
    // Available or reserved: no car charges there.
    this.#stateAt.delete(evseId);
    return 'Available';
  }
}
