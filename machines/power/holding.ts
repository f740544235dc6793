// What a ledger of grants knows of one connector, as others may read it.
import type { LeaseKind } from './grant.js';
import type { OwnPhases, PhaseCount } from './own-phases.js';

/** What a connector is and falls back to. Currents in tenths of an ampere per phase. */
export interface HoldingSpec {
  readonly maxTenthsA: number;
  /** What the charger does by itself, as far as is known. */
  readonly failsafeTenthsA: number;
  /** On all of its phases together. */
  readonly milliwattsPerTenth: number;
  /** On one phase, at the voltage it was counted with at the least before the start; the same where it is left out. */
  readonly leastMilliwattsOnPhase?: number;
  /** The least it can be told other than 0; the 6 A of AC where it is left out. */
  readonly leastTenthsA?: number;
  readonly lease: LeaseKind;
  /** How long it may keep to a grant; as long as any charger of the service where it is left out. */
  readonly ttlMs?: number;
  /** It falls back to what the newest grant it took says, over a restart too; otherwise to `failsafeTenthsA` as well. */
  readonly keepsThen: boolean;
  /** Places of the poles that each of its phases may load; one phase without any where they are left out. */
  readonly polesOfPhases?: readonly (readonly number[])[];
}

/** One connector's place in a ledger: read it, but only the ledger writes it. Currents in tenths of A, powers in W. */
export interface Holding {
  readonly key: string;
  readonly maxTenthsA: number;
  /** How many it has. */
  readonly phases: number;
  /** How many of its phases grants are for from here on. */
  readonly usedPhases: PhaseCount;
  /** On these phases together. */
  readonly milliwattsPerTenth: number;
  /** On each of its phases. */
  readonly milliwattsOnPhase: number;
  /** The least it can be told other than 0. */
  readonly leastTenthsA: number;
  readonly lease: LeaseKind;
  readonly ttlMs: number;
  readonly keepsThen: boolean;
  /** Places of the poles that the phases it uses may load. */
  readonly poles: readonly number[];
  /** Of all of its phases, each with the first of its phases that may load it. */
  readonly allPoles: readonly PhaseOfPole[];
  /** Its maximum is reserved, whatever it was granted: it did not comply, or keeps to no lease. */
  readonly isWorstCase: boolean;
  /** The most it may be entitled to on any phase. */
  readonly boundTenthsA: number;
  /** The most that what it was granted entitles it to on any phase, worst case left aside: what it must not exceed. */
  readonly entitledTenthsA: number;
  /** The same on each phase. */
  readonly bounds: OwnPhases;
  readonly entitled: OwnPhases;
  readonly boundW: number;
  /** What it may load its poles with: `bounds`, or what it falls back to by itself, which fuses always have room for. */
  readonly loads: OwnPhases;
  /** The largest of what it may fall back to, on any phase and on each. */
  readonly failsafeTenthsA: number;
  readonly failsafes: OwnPhases;
  /** Its charger said how it falls back. */
  readonly isDescribed: boolean;
  /** What is reserved because it falls back to that by itself: it keeps nothing over a restart. */
  readonly ownFailsafeTenthsA: number;
  /** What it says it does by itself. */
  readonly saidFailsafeTenthsA: number;
  /** Of the newest grant; 0 before the first. */
  readonly lastSeq: number;
  readonly ackedSeq: number;
}

export interface PhaseOfPole {
  readonly pole: number;
  /** 0 for its first phase: no later one that may load the pole carries more. */
  readonly phase: number;
}

/** Of connectors of which no fuse is known: most, who share it. */
const NO_POLES: readonly PhaseOfPole[] = [];

/** Each pole, with the first phase that may load it. */
export function firstPhasesOf(polesOfPhases: readonly (readonly number[])[]): readonly PhaseOfPole[] {
  if (polesOfPhases.every((poles) => poles.length === 0)) return NO_POLES;
  const firstPhase = new Map<number, number>();
  for (const [phase, poles] of polesOfPhases.entries())
    for (const pole of poles) if (!firstPhase.has(pole)) firstPhase.set(pole, phase);
  const allPoles: PhaseOfPole[] = [...firstPhase].map(([pole, phase]) => ({ pole, phase }));
  // Poles have the same order whichever phase loads them: where several are full, the first of them is named.
  return allPoles.sort((a, b) => a.pole - b.pole);
}

/** Each of a connector's poles, with what `loads` on its phases load it with. */
export function forEachLoad(
  { allPoles }: Holding,
  loads: OwnPhases,
  take: (pole: number, tenthsA: number) => void,
): void {
  for (const { pole, phase } of allPoles) take(pole, loads[phase] ?? 0);
}

/**
 * What is reserved of the budget for it, tenths of an ampere, whatever it is told: its charger falls back to that by itself. A pause
 * frees nothing of it.
 */
export function reservedAnywayTenthsA({ ownFailsafeTenthsA, maxTenthsA }: Holding): number {
  return Math.min(ownFailsafeTenthsA, maxTenthsA);
}

/** The same of its fuses: they always have room for what it falls back to by itself, whatever the budget has. */
export function carriedAnywayTenthsA({
  keepsThen,
  saidFailsafeTenthsA,
  maxTenthsA,
}: Pick<Holding, 'keepsThen' | 'saidFailsafeTenthsA' | 'maxTenthsA'>): number {
  return keepsThen ? 0 : Math.min(saidFailsafeTenthsA, maxTenthsA);
}
