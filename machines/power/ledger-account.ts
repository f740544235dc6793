// Ledger account of one connector, as other modules may read it.
import type { LeaseKind } from './grant.js';
import type { OwnPhases, PhaseCount } from './own-phases.js';

/** Ratings and fail-safe of a connector. Currents in tenths of an ampere per phase. */
export interface AccountSpec {
  readonly maxTenthsA: number;
  /** Fail-safe of the charger, as far as known. */
  readonly failsafeTenthsA: number;
  /** On all of its phases together. */
  readonly milliwattsPerTenth: number;
  /** On one phase, at the lowest voltage that may have applied before the service start; the current one if omitted. */
  readonly leastMilliwattsOnPhase?: number;
  /** The lowest limit above 0; 6 A (AC) if omitted. */
  readonly leastTenthsA?: number;
  readonly lease: LeaseKind;
  /** Lease length; the service default if omitted. */
  readonly ttlMs?: number;
  /**
   * The charger falls back to the `thenA` of its newest grant, also after a restart. Otherwise it may fall back to
   * `failsafeTenthsA` as well.
   */
  readonly keepsThen: boolean;
  /** Indices of the circuit phases for each of its phases; one phase without any if omitted. */
  readonly circuitPhasesOfPhases?: readonly (readonly number[])[];
}

/** Ledger account of one connector. Only the ledger writes it. Currents in tenths of A, powers in W. */
export interface LedgerAccount {
  readonly key: string;
  readonly maxTenthsA: number;
  /** Number of the connector's phases. */
  readonly phases: number;
  /** Number of phases that new grants are for. */
  readonly usedPhases: PhaseCount;
  /** On these phases together. */
  readonly milliwattsPerTenth: number;
  /** On each of its phases. */
  readonly milliwattsOnPhase: number;
  /** The lowest limit above 0. */
  readonly leastTenthsA: number;
  readonly lease: LeaseKind;
  readonly ttlMs: number;
  readonly keepsThen: boolean;
  /** Indices of the circuit phases that the used phases may load. */
  readonly circuitPhases: readonly number[];
  /** Circuit phases of all its phases, each with the first phase that may load it. */
  readonly allCircuitPhases: readonly PhaseOnCircuit[];
  /** The maximum is reserved at any grant: the connector does not comply, or keeps no lease. */
  readonly isWorstCase: boolean;
  /** Upper bound of the entitlement on any phase. */
  readonly boundTenthsA: number;
  /** Highest entitlement by grants on any phase, without the worst case. A higher draw is non-compliant. */
  readonly entitledTenthsA: number;
  /** The same on each phase. */
  readonly bounds: OwnPhases;
  readonly entitled: OwnPhases;
  readonly boundW: number;
  /** Possible load per phase: `bounds`, or the own fail-safe, which fuses always have capacity for. */
  readonly loads: OwnPhases;
  /** Highest possible fallback, on any phase and on each. */
  readonly failsafeTenthsA: number;
  readonly failsafes: OwnPhases;
  /** The charger has described its fallback. */
  readonly isDescribed: boolean;
  /** Reserved for the charger's own fail-safe, because the charger keeps nothing over a restart. */
  readonly ownFailsafeTenthsA: number;
  /** Fail-safe that the charger reports. */
  readonly reportedFailsafeTenthsA: number;
  /** Number of the newest grant; 0 before the first. */
  readonly lastSeq: number;
  readonly ackedSeq: number;
}

export interface PhaseOnCircuit {
  readonly circuitPhase: number;
  /** 0 for its first phase. No later phase that loads the same circuit phase carries more. */
  readonly phase: number;
}

/** Shared by all connectors without a known fuse, which are most. */
const NO_POLES: readonly PhaseOnCircuit[] = [];

/** Each circuit phase with the first phase that may load it. */
export function firstPhasesOf(
  circuitPhasesOfPhases: readonly (readonly number[])[],
): readonly PhaseOnCircuit[] {
  if (circuitPhasesOfPhases.every((circuitPhases) => circuitPhases.length === 0)) return NO_POLES;
  const firstPhase = new Map<number, number>();
  for (const [phase, circuitPhases] of circuitPhasesOfPhases.entries())
    for (const circuitPhase of circuitPhases)
      if (!firstPhase.has(circuitPhase)) firstPhase.set(circuitPhase, phase);
  const allCircuitPhases: PhaseOnCircuit[] = [...firstPhase].map(([circuitPhase, phase]) => ({
    circuitPhase,
    phase,
  }));
  // All phases list circuit phases in the same order, so the first full one in that order is reported.
  return allCircuitPhases.sort((a, b) => a.circuitPhase - b.circuitPhase);
}

/** Calls `take` for each circuit phase with its load from `loads`. */
export function forEachLoad(
  { allCircuitPhases }: LedgerAccount,
  loads: OwnPhases,
  take: (circuitPhase: number, tenthsA: number) => void,
): void {
  for (const { circuitPhase, phase } of allCircuitPhases) take(circuitPhase, loads[phase] ?? 0);
}

/**
 * Budget reservation at any limit, tenths of an ampere: the charger falls back to it on its own. A pause frees none of
 * it.
 */
export function alwaysReservedTenthsA({ ownFailsafeTenthsA, maxTenthsA }: LedgerAccount): number {
  return Math.min(ownFailsafeTenthsA, maxTenthsA);
}

/** The same for fuses. They always have capacity for the charger's own fail-safe, also beyond the budget. */
export function alwaysCarriedTenthsA({
  keepsThen,
  reportedFailsafeTenthsA,
  maxTenthsA,
}: Pick<LedgerAccount, 'keepsThen' | 'reportedFailsafeTenthsA' | 'maxTenthsA'>): number {
  return keepsThen ? 0 : Math.min(reportedFailsafeTenthsA, maxTenthsA);
}
