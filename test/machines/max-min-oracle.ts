// Works out max-min fair shares in two ways without the production code: by an exhaustive search and by linear
// programs.
import { type Coefficients, type Constraint, solve } from 'yalps';

export interface Range {
  readonly floorW: number;
  readonly mostW: number;
}

/** A limited resource besides power, shared by all ranges. */
export interface Resource {
  readonly available: number;
  /** Use by one watt of each range, in the order of the ranges. 0 if a range does not use the resource. */
  readonly perW: readonly number[];
}

/**
 * The vector of whole watts within the ranges whose sorted values are lexicographically largest. undefined if none
 * fits.
 */
export function fairestByTrying(ranges: readonly Range[], availableW: number): number[] | undefined {
  let best: number[] | undefined;
  for (const sharesW of everyVector(ranges, availableW)) {
    if (best === undefined || isFairer(sharesW, best)) best = sharesW;
  }
  return best;
}

function* everyVector([range, ...rest]: readonly Range[], availableW: number): Generator<number[]> {
  if (range === undefined) {
    if (availableW >= 0) yield [];
    return;
  }
  for (let shareW = range.floorW; shareW <= range.mostW; shareW++) {
    for (const others of everyVector(rest, availableW - shareW)) yield [shareW, ...others];
  }
}

export function ascending(sharesW: readonly number[]): number[] {
  return [...sharesW].sort((a, b) => a - b);
}

function isFairer(sharesW: readonly number[], thanW: readonly number[]): boolean {
  const [these, those] = [ascending(sharesW), ascending(thanW)];
  for (const [i, shareW] of these.entries()) {
    const otherW = those[i] ?? 0;
    if (shareW !== otherW) return shareW > otherW;
  }
  return false;
}

// Tolerance for rounding between two linear programs.
const ROUNDING_W = 1e-6;

/**
 * Real-valued max-min fair shares. Each round raises the smallest share as far as a linear program can, fixes all
 * shares that can rise no further, and repeats with the others. The minimums must fit.
 */
export function fairestByProgram(
  ranges: readonly Range[],
  availableW: number,
  resources: readonly Resource[] = [],
): number[] {
  const all = [{ available: availableW, perW: ranges.map(() => 1) }, ...resources];
  const pinnedW = new Map<number, number>();
  while (pinnedW.size < ranges.length) {
    const levelW = highest('level', ranges, all, pinnedW, undefined);
    const free = ranges.map((_, i) => i).filter((i) => !pinnedW.has(i));
    const stuck = free.filter((i) => highest(`x${i}`, ranges, all, pinnedW, levelW) <= levelW + 1e-4);
    for (const i of stuck) pinnedW.set(i, levelW);
    if (stuck.length === 0) throw new Error('the linear program is stuck: its level is not the highest');
  }
  return ranges.map((_, i) => pinnedW.get(i) ?? Number.NaN);
}

/** The highest value of `objective`: either `level`, below all shares not fixed, or one share `x…` at a fixed level. */
function highest(
  objective: string,
  ranges: readonly Range[],
  resources: readonly Resource[],
  pinnedW: ReadonlyMap<number, number>,
  levelW: number | undefined,
): number {
  const level: Record<string, number> = { level: 1 };
  const constraints: Record<string, Constraint> = {
    ...Object.fromEntries(
      resources.map(({ available }, r) => [`sum${r}`, { max: available + ROUNDING_W }] as const),
    ),
    level: { min: levelW === undefined ? 0 : levelW - ROUNDING_W },
  };
  const variables: Record<string, Coefficients> = { level };
  for (const [i, { floorW, mostW }] of ranges.entries()) {
    const pinned = pinnedW.get(i);
    constraints[`x${i}`] =
      pinned === undefined ? { min: floorW, max: mostW } : { min: pinned - 10 * ROUNDING_W, max: pinned };
    const sums = resources.map(({ perW }, r) => [`sum${r}`, perW[i] ?? 0] as const);
    variables[`x${i}`] = { ...Object.fromEntries(sums), [`x${i}`]: 1, [`above${i}`]: 1 };
    if (pinned !== undefined) continue;
    constraints[`above${i}`] = { min: 0 };
    level[`above${i}`] = -1;
  }
  const { status, result } = solve({ direction: 'maximize', objective, constraints, variables });
  if (status !== 'optimal') throw new Error(`the linear program is ${status}`);
  return result;
}
