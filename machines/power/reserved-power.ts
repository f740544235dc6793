// What a location's chargers take of the caps of its clusters, and whether that is other than after the decision before.
import type { ReservedPower } from '../limits/cluster-shares.js';
import type { GrantLedger } from './grant-ledger.js';
import type { PowerNeed } from './shortage.js';

export class LocationReservedPower implements ReservedPower {
  readonly #ledger: GrantLedger;
  /** As of the last decision, or more where it rose since: its clusters know of that. */
  #countedW = 0;
  #neededW = 0;
  #isLettingGo = false;

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

  get isLettingGo(): boolean {
    return this.#isLettingGo;
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
    const isRise = this.#isRise(shareW);
    if (isRise) this.#countedW = this.reservedW;
    return isRise;
  }

  /**
   * A decision is made: true where its clusters have to share anew. Less is reserved than after the one before, or more than
   * its share, as a lock has its minimum whatever that is, or other is needed, or its chargers let go of other than before.
   * @param isLettingGo some may draw more still than they are left with
   */
  noteDecision(
    { lockedW, heldW, uncontrolledW }: PowerNeed,
    { shareW, isLettingGo }: { readonly shareW: number; readonly isLettingGo: boolean },
  ): boolean {
    const neededW = lockedW + heldW + uncontrolledW;
    const isOther =
      this.reservedW < this.#countedW ||
      this.#isRise(shareW) ||
      neededW !== this.#neededW ||
      isLettingGo !== this.#isLettingGo;
    this.#countedW = this.reservedW;
    this.#neededW = neededW;
    this.#isLettingGo = isLettingGo;
    return isOther;
  }

  #isRise(shareW: number): boolean {
    return this.reservedW > Math.max(shareW, this.#countedW);
  }
}
