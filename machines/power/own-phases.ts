// Currents on a connector's own phases, in their order: a car uses the first of them, the first two, or all.

/** How many of its own phases, from the first on, something is for; `ALL_PHASES` also where the connector has fewer. */
export type PhaseCount = 1 | 2 | 3;
export const ALL_PHASES = 3;

/** Tenths of an ampere on its first, second and third phase; never more on one than on the one before. */
export type OwnPhases = readonly [number, number, number];

export const NO_CURRENT: OwnPhases = [0, 0, 0];

/** So much on the first `phases`, and nothing on the others. */
export function onFirst(tenthsA: number, phases: PhaseCount): OwnPhases {
  return [tenthsA, phases > 1 ? tenthsA : 0, phases > 2 ? tenthsA : 0];
}

/** Whether it is so much on the first `phases`, and nothing on the others. */
export function isOnFirst(currents: OwnPhases, tenthsA: number, phases: PhaseCount): boolean {
  const [first, second, third] = currents;
  return first === tenthsA && second === (phases > 1 ? tenthsA : 0) && third === (phases > 2 ? tenthsA : 0);
}

/** On each phase the larger of both: as a rule one of them, and nothing is made anew. */
export function largerOf(a: OwnPhases, b: OwnPhases): OwnPhases {
  if (isWithin(b, a)) return a;
  if (isWithin(a, b)) return b;
  return [Math.max(a[0], b[0]), Math.max(a[1], b[1]), Math.max(a[2], b[2])];
}

/** On each phase the smaller of both. */
export function smallerOf(a: OwnPhases, b: OwnPhases): OwnPhases {
  return [Math.min(a[0], b[0]), Math.min(a[1], b[1]), Math.min(a[2], b[2])];
}

/** On each phase no more than `mostTenthsA`. */
export function cappedAt(currents: OwnPhases, mostTenthsA: number): OwnPhases {
  const [first, second, third] = currents;
  if (first <= mostTenthsA) return currents;
  return [mostTenthsA, Math.min(second, mostTenthsA), Math.min(third, mostTenthsA)];
}

/** Whether it is on no phase more than the other. */
export function isWithin(a: OwnPhases, b: OwnPhases): boolean {
  return a[0] <= b[0] && a[1] <= b[1] && a[2] <= b[2];
}

/** What a grant for so many phases may say to be within `currents`. */
export function mostOnFirst(currents: OwnPhases, phases: PhaseCount): number {
  return currents[phases - 1] ?? 0;
}

/** As many as carry something: one where none does. */
export function phasesLoaded(currents: OwnPhases): PhaseCount {
  if (currents[2] > 0) return 3;
  return currents[1] > 0 ? 2 : 1;
}
