// What a location's chargers take of the caps of its clusters, and whether that is other than after the decision before.
import type { ReservedPower } from '../limits/cluster-shares.js';
import type { GrantLedger } from './grant-ledger.js';
import type { PowerNeed } from './shortage.js';

export class LocationReservedPower implements ReservedPower {
  readonly #ledger: GrantLedger;
  #decidedW = 0;
  #neededW = 0;

  constructor(ledger: GrantLedger) {
    this.#ledger = ledger;
  }

  get reservedW(): number {
    return this.#ledger.totalW;
  }

  get neededW(): number {
    return this.#neededW;
  }

  lastingW(): number {
    return this.#ledger.lastingW();
  }

  /** Nothing is reserved, and nothing was after the last decision. */
  get isNothing(): boolean {
    return this.reservedW === 0 && this.#decidedW === 0;
  }

  /** A decision is made: true where less is reserved than after the one before, or other is needed. */
  noteDecision({ lockedW, heldW, uncontrolledW }: PowerNeed): boolean {
    const neededW = lockedW + heldW + uncontrolledW;
    const isOther = this.reservedW < this.#decidedW || neededW !== this.#neededW;
    this.#decidedW = this.reservedW;
    this.#neededW = neededW;
    return isOther;
  }
}
