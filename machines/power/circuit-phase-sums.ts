// Sums of the possible connector loads per circuit phase, and the capacities. Tenths of an ampere.
import type { LedgerAccount } from './ledger-account.js';
import type { BeyondGrants } from './ledger-capacity.js';
import type { OwnPhases } from './own-phases.js';

export class CircuitPhaseSums {
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
  move({ allCircuitPhases }: LedgerAccount, from: OwnPhases, to: OwnPhases): void {
    for (const { circuitPhase, phase } of allCircuitPhases)
      this.loadsTenthsA[circuitPhase] =
        (this.loadsTenthsA[circuitPhase] ?? 0) + (to[phase] ?? 0) - (from[phase] ?? 0);
  }

  /**
   * Capacity that the others leave on all circuit phases of the used phases; infinite without any.
   * @param beyond part of the others' reservations that does not count
   */
  leftFor({ allCircuitPhases, loads, usedPhases }: LedgerAccount, beyond?: BeyondGrants): number {
    let leastTenthsA = Number.POSITIVE_INFINITY;
    for (const { circuitPhase, phase } of allCircuitPhases) {
      if (phase >= usedPhases) continue;
      const countedTenthsA = (this.loadsTenthsA[circuitPhase] ?? 0) - (beyond?.tenthsAOf(circuitPhase) ?? 0);
      const othersTenthsA = countedTenthsA - (loads[phase] ?? 0);
      leastTenthsA = Math.min(leastTenthsA, (this.#capacitiesTenthsA[circuitPhase] ?? 0) - othersTenthsA);
    }
    return Math.max(0, leastTenthsA);
  }
}
