// Currents on a connector's own phases, in their order. A car uses the first phase, the first two, or all three.

/**
 * Number of the connector's own phases, from the first on. `ALL_PHASES` also stands for all phases of a smaller
 * connector.
 */
export type PhaseCount = 1 | 2 | 3;
export const ALL_PHASES = 3;

/** Tenths of an ampere on the first, second and third phase. No phase has more than the one before. */
export type OwnPhases = readonly [number, number, number];

export const NO_CURRENT: OwnPhases = [0, 0, 0];

/** `tenthsA` on the first `phases` phases, and 0 on the others. */
export function onFirst(tenthsA: number, phases: PhaseCount): OwnPhases {
  return [tenthsA, phases > 1 ? tenthsA : 0, phases > 2 ? tenthsA : 0];
}

export function isOnFirst(currents: OwnPhases, tenthsA: number, phases: PhaseCount): boolean {
  const [first, second, third] = currents;
  return first === tenthsA && second === (phases > 1 ? tenthsA : 0) && third === (phases > 2 ? tenthsA : 0);
}

/** The larger value on each phase. As a rule that is one of the arguments, and no new object is made. */
export function largerOf(a: OwnPhases, b: OwnPhases): OwnPhases {
  if (isWithin(b, a)) return a;
  if (isWithin(a, b)) return b;
  return [Math.max(a[0], b[0]), Math.max(a[1], b[1]), Math.max(a[2], b[2])];
}

export function smallerOf(a: OwnPhases, b: OwnPhases): OwnPhases {
  return [Math.min(a[0], b[0]), Math.min(a[1], b[1]), Math.min(a[2], b[2])];
}

export function cappedAt(currents: OwnPhases, mostTenthsA: number): OwnPhases {
  const [first, second, third] = currents;
  if (first <= mostTenthsA) return currents;
  return [mostTenthsA, Math.min(second, mostTenthsA), Math.min(third, mostTenthsA)];
}

/** `a` exceeds `b` on no phase. */
export function isWithin(a: OwnPhases, b: OwnPhases): boolean {
  return a[0] <= b[0] && a[1] <= b[1] && a[2] <= b[2];
}

/** Highest grant for `phases` phases within `currents`. */
export function mostOnFirst(currents: OwnPhases, phases: PhaseCount): number {
  return currents[phases - 1] ?? 0;
}

/** Number of phases with current; 1 if there is none. */
export function phasesLoaded(currents: OwnPhases): PhaseCount {
  if (currents[2] > 0) return 3;
  return currents[1] > 0 ? 2 : 1;
}
