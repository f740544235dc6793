// Power that a location's chargers take of its clusters' caps, and the changes since the last decision.
import type { ReservedPower } from '../limits/cluster-shares.js';
import type { GrantLedger } from './grant-ledger.js';
import type { PowerNeed } from './shortage.js';

export class LocationReservedPower implements ReservedPower {
  readonly #ledger: GrantLedger;
  /** As of the last decision, or higher after a rise that the clusters have received. */
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

  get isReleasing(): boolean {
    return this.#isLettingGo;
  }

  /** The reservation is 0 now and was 0 after the last decision. */
  get isNothing(): boolean {
    return this.reservedW === 0 && this.#countedW === 0;
  }

  /**
   * True once for each rise of the reservation above `shareW` and above the clusters' last value. Such a rise happens
   * between decisions. `shareW` is the clusters' share for the location.
   */
  noteRise(shareW: number): boolean {
    const isRise = this.#isRise(shareW);
    if (isRise) this.#countedW = this.reservedW;
    return isRise;
  }

  /**
   * Records a decision; true if the clusters have to divide their caps again. That is so if the reservation fell or
   * exceeds the share, which a lock's minimum may cause. It is also so if the need or `isReleasing` changed.
   * @param isLettingGo some connectors may still draw more than their new limits
   */
  noteDecision(
    { lockedW, heldW, uncontrolledW }: PowerNeed,
    { shareW, isReleasing }: { readonly shareW: number; readonly isReleasing: boolean },
  ): boolean {
    const neededW = lockedW + heldW + uncontrolledW;
    const isOther =
      this.reservedW < this.#countedW ||
      this.#isRise(shareW) ||
      neededW !== this.#neededW ||
      isReleasing !== this.#isLettingGo;
    this.#countedW = this.reservedW;
    this.#neededW = neededW;
    this.#isLettingGo = isReleasing;
    return isOther;
  }

  #isRise(shareW: number): boolean {
    return this.reservedW > Math.max(shareW, this.#countedW);
  }
}
