// What a charger that speaks OCPP 2.0.1 or 2.1 said of its EVSEs, from one connection to the next: it does not say again what goes on.
import type { ChargingStatus } from '../../machines/power/meter-ledger.js';

export class EvseUses {
  /** What the car of an EVSE does, while it is there. */
  readonly #stateAt = new Map<number, ChargingStatus>();
  /** Which connector of an EVSE the car is at: that another of them is free is no news of it. */
  readonly #usedAt = new Map<number, number>();

  /** What the word of one connector says of its EVSE, which charges at one of its connectors at a time. */
  heardStatus(evseId: number, connectorId: number, word: string): ChargingStatus {
    return this.#statusOf(evseId, this.#wordOfEvse(evseId, connectorId, word));
  }

  heardState(evseId: number, status: ChargingStatus): void {
    this.#stateAt.set(evseId, status);
  }

  /** The car of an EVSE is at that connector. */
  heardConnector(evseId: number, connectorId: number): void {
    this.#usedAt.set(evseId, connectorId);
  }

  /** What was said counts no longer: the charger started anew, or speaks another version. */
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
    // Free: or reserved, and nobody charges there yet.
    this.#stateAt.delete(evseId);
    return 'Available';
  }
}
