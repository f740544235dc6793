// Sums of the possible connector loads per circuit phase, and the capacities. Tenths of an ampere.
import type { Holding } from './holding.js';
import type { BeyondGrants } from './ledger-room.js';
import type { OwnPhases } from './own-phases.js';

export class PoleSums {
  loadsTenthsA: number[] = [];
  #capacitiesTenthsA: readonly number[] = [];

  /** Changes the capacities of the same circuit phases. */
  limit(capacitiesTenthsA: readonly number[]): void {
    this.#capacitiesTenthsA = capacitiesTenthsA;
  }

  /** Replaces the circuit phases; the new ones have no load. */
  replace(capacitiesTenthsA: readonly number[]): void {
    this.limit(capacitiesTenthsA);
    this.loadsTenthsA = capacitiesTenthsA.map(() => 0);
  }

  /** Replaces a connector's currents `from` by `to`. */
  move({ allPoles }: Holding, from: OwnPhases, to: OwnPhases): void {
    for (const { pole, phase } of allPoles)
      this.loadsTenthsA[pole] = (this.loadsTenthsA[pole] ?? 0) + (to[phase] ?? 0) - (from[phase] ?? 0);
  }

  /**
   * Capacity that the others leave on all circuit phases of the used phases; infinite without any.
   * @param beyond part of the others' reservations that does not count
   */
  leftFor({ allPoles, loads, usedPhases }: Holding, beyond?: BeyondGrants): number {
    let leastTenthsA = Number.POSITIVE_INFINITY;
    for (const { pole, phase } of allPoles) {
      if (phase >= usedPhases) continue;
      const countedTenthsA = (this.loadsTenthsA[pole] ?? 0) - (beyond?.tenthsAOf(pole) ?? 0);
      const othersTenthsA = countedTenthsA - (loads[phase] ?? 0);
      leastTenthsA = Math.min(leastTenthsA, (this.#capacitiesTenthsA[pole] ?? 0) - othersTenthsA);
    }
    return Math.max(0, leastTenthsA);
  }
}
