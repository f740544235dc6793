// State of the EVSEs of a charger with OCPP 2.0.1 or 2.1. It outlasts a
// connection: the charger does not repeat unchanged state.
import type { ChargingStatus } from '../../machines/power/meter-ledger.js';

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
