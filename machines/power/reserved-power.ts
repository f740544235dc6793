// What a location's chargers take of the caps of its clusters, and whether that is other than after the decision before.
import type { ReservedPower } from '../limits/cluster-shares.js';
import type { GrantLedger } from './grant-ledger.js';
import type { PowerNeed } from './shortage.js';

export class LocationReservedPower implements ReservedPower {
  readonly #ledger: GrantLedger;
  /** As of the last decision, or more where it rose since: its clusters know of that. */
  #countedW = 0;
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
    return this.reservedW === 0 && this.#countedW === 0;
  }

  /**
   * More is reserved than its clusters count with, by something else than a decision, and that is more than `shareW`, which they
   * leave it: true once for each such rise.
   */
  noteRise(shareW: number): boolean {
    const { reservedW } = this;
    if (reservedW <= Math.max(shareW, this.#countedW)) return false;
    this.#countedW = reservedW;
    return true;
  }

  /** A decision is made: true where less is reserved than after the one before, or other is needed. */
  noteDecision({ lockedW, heldW, uncontrolledW }: PowerNeed): boolean {
    const neededW = lockedW + heldW + uncontrolledW;
    const isOther = this.reservedW < this.#countedW || neededW !== this.#neededW;
    this.#countedW = this.reservedW;
    this.#neededW = neededW;
    return isOther;
  }
}
