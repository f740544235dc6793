// What the connectors of a ledger may load each pole with together, and what it can carry. Tenths of an ampere.
import type { Holding } from './holding.js';
import type { BeyondGrants } from './ledger-room.js';
import type { OwnPhases } from './own-phases.js';

export class PoleSums {
  loadsTenthsA: number[] = [];
  #capacitiesTenthsA: readonly number[] = [];

  /** The same poles can carry more or less from here on. */
  limit(capacitiesTenthsA: readonly number[]): void {
    this.#capacitiesTenthsA = capacitiesTenthsA;
  }

  /** Other poles, which nobody loads yet. */
  replace(capacitiesTenthsA: readonly number[]): void {
    this.limit(capacitiesTenthsA);
    this.loadsTenthsA = capacitiesTenthsA.map(() => 0);
  }

  /** A connector loads its poles with other currents than before. */
  move({ allPoles }: Holding, from: OwnPhases, to: OwnPhases): void {
    for (const { pole, phase } of allPoles)
      this.loadsTenthsA[pole] = (this.loadsTenthsA[pole] ?? 0) + (to[phase] ?? 0) - (from[phase] ?? 0);
  }

  /**
   * What the others leave of every pole that the phases it uses may load; infinite where there is none.
   * @param beyond as much of what is reserved for them as is not counted
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
