// Derives the limit in force of the past from roll-ups. Each roll-up has the mean and the lowest limit of its interval,
// but not the instants of changes. A mean need not be a limit that ever applied: if a window of 22 kW begins within a
// minute, the mean of this minute may be 29 kW. Therefore steps come from lines with known steps, if these agree with
// the roll-up.
import type { EpochMs } from '../../machines/values/time.js';
import type { LocationPower } from '../../src/features/power-history/contract.js';
import { combined, continued, type Step, type StepLine, since, valueAt } from './step-line.js';

export interface LimitInForce {
  /** Known steps, or the mean of a roll-up with unknown steps. */
  readonly inForceKw: StepLine;
  /** The lowest limit of roll-ups with unknown steps; null elsewhere. */
  readonly lowestKw: StepLine;
  /**
   * The highest limit of each roll-up with a change, for its whole duration, because only the mean of the power is
   * known. Null elsewhere.
   */
  readonly highestKw: StepLine;
}

/** Means are stored in whole watts. */
const ROUNDING_KW = 0.001;
/**
 * Usual upper bound of the delay between a boundary and the limit that follows from it: the time to the next decision.
 */
const LATE_MS = 1_000;
/**
 * Upper bound of the gap between stored roll-ups, which end with the last full minute, and events since the page
 * opened.
 */
export const UNTOLD_AT_MOST_MS = 65_000;

interface RollUp {
  readonly fromMs: EpochMs;
  readonly toMs: EpochMs;
  readonly meanKw: number;
  readonly lowestKw: number;
}

/**
 * @param known exact lines that the limit in force may have followed, such as the effective limit
 * @param live the limit in force by events since the page opened
 */
export function limitInForce(power: LocationPower, known: readonly StepLine[], live: StepLine): LimitInForce {
  const rollUps = rollUpsOf(power);
  const inForce: Step[] = [];
  const lowest: Step[] = [];
  const highest: Step[] = [];
  let beforeKw: number | undefined;
  for (const [i, rollUp] of rollUps.entries()) {
    const { fromMs, toMs, meanKw, lowestKw } = rollUp;
    if (inForce.length > 0 && rollUps[i - 1]?.toMs !== fromMs) beforeKw = undefined;
    const afterKw = settledKwAfter(rollUps, i, live);
    const steps = isSettled(rollUp) ? flat(fromMs, meanKw) : stepsIn(rollUp, known, beforeKw, afterKw);
    inForce.push(...(steps ?? flat(fromMs, meanKw)), { atMs: toMs, value: null });
    if (steps === undefined) lowest.push({ atMs: fromMs, value: lowestKw }, { atMs: toMs, value: null });
    if (!isSettled(rollUp)) {
      const limitsKw = steps?.map(({ value }) => value ?? 0) ?? [meanKw, beforeKw ?? 0, afterKw ?? 0];
      highest.push({ atMs: fromMs, value: Math.max(...limitsKw) }, { atMs: toMs, value: null });
    }
    beforeKw = steps?.at(-1)?.value ?? undefined;
  }
  return {
    inForceKw: withLive(tidy(inForce), live, known),
    lowestKw: tidy(lowest),
    highestKw: tidy(highest),
  };
}

function rollUpsOf({ points, stepSeconds }: LocationPower): RollUp[] {
  return points.map(({ at, meanLimitKw, limitKw }) => {
    const fromMs = Date.parse(at);
    return { fromMs, toMs: fromMs + 1000 * stepSeconds, meanKw: meanLimitKw, lowestKw: limitKw };
  });
}

function isSettled({ meanKw, lowestKw }: RollUp): boolean {
  return Math.abs(meanKw - lowestKw) <= ROUNDING_KW;
}

/** The limit at the end of a roll-up: that of the next roll-up, or the first one by events. */
function settledKwAfter(rollUps: readonly RollUp[], i: number, live: StepLine): number | undefined {
  const [ended, next] = [rollUps[i], rollUps[i + 1]];
  if (ended === undefined) return undefined;
  if (next !== undefined) return next.fromMs === ended.toMs && isSettled(next) ? next.meanKw : undefined;
  const [first] = live;
  if (first === undefined || first.atMs - ended.toMs > UNTOLD_AT_MOST_MS) return undefined;
  return valueAt(live, Math.max(ended.toMs, first.atMs)) ?? undefined;
}

/** Undefined if no known line agrees with the roll-up. */
function stepsIn(
  rollUp: RollUp,
  known: readonly StepLine[],
  beforeKw: number | undefined,
  afterKw: number | undefined,
): StepLine | undefined {
  const capKw = Math.max(beforeKw ?? 0, afterKw ?? 0);
  for (const line of known)
    for (const atMostKw of [Number.POSITIVE_INFINITY, capKw]) {
      const steps = stepsOf(line, rollUp, atMostKw);
      if (steps !== undefined && agrees(steps, rollUp)) return steps;
    }
  return oneStep(rollUp, beforeKw, afterKw);
}

function stepsOf(line: StepLine, { fromMs, toMs }: RollUp, atMostKw: number): StepLine | undefined {
  const steps = since(line, fromMs).filter(({ atMs }) => atMs < toMs);
  if (steps.some(({ value }) => value === null)) return undefined;
  return steps.map(({ atMs, value }) => ({ atMs, value: Math.min(value ?? 0, atMostKw) }));
}

/** True if mean and lowest value equal those of the roll-up, apart from the delay of each change. */
function agrees(steps: StepLine, { fromMs, toMs, meanKw, lowestKw }: RollUp): boolean {
  let sum = 0;
  let late = 0;
  for (const [i, { atMs, value }] of steps.entries()) {
    sum += (value ?? 0) * ((steps[i + 1]?.atMs ?? toMs) - atMs);
    if (i > 0) late += Math.abs((value ?? 0) - (steps[i - 1]?.value ?? 0)) * LATE_MS;
  }
  const lengthMs = toMs - fromMs;
  const least = Math.min(...steps.map(({ value }) => value ?? 0));
  return (
    Math.abs(least - lowestKw) <= ROUNDING_KW &&
    Math.abs(sum / lengthMs - meanKw) <= ROUNDING_KW + late / lengthMs
  );
}

/** For a single change from the previous to the next limit, the mean determines its instant. */
function oneStep(
  { fromMs, toMs, meanKw, lowestKw }: RollUp,
  beforeKw: number | undefined,
  afterKw: number | undefined,
): StepLine | undefined {
  if (beforeKw === undefined || afterKw === undefined || beforeKw === afterKw) return undefined;
  if (Math.abs(Math.min(beforeKw, afterKw) - lowestKw) > ROUNDING_KW) return undefined;
  const share = (meanKw - afterKw) / (beforeKw - afterKw);
  if (share < 0 || share > 1) return undefined;
  const atMs = Math.round(fromMs + share * (toMs - fromMs));
  return [
    { atMs: fromMs, value: beforeKw },
    { atMs, value: afterKw },
  ];
}

/**
 * Appends the limits by events to the roll-ups. In the gap between them, a known line applies if it agrees on both
 * sides.
 */
function withLive(stored: StepLine, live: StepLine, known: readonly StepLine[]): StepLine {
  const [first] = live;
  const end = stored.at(-1);
  const held = stored.at(-2)?.value ?? null;
  if (first === undefined || end === undefined || held === null) return continued(stored, live);
  if (first.atMs <= end.atMs || first.atMs - end.atMs > UNTOLD_AT_MOST_MS) return continued(stored, live);
  const gap = { fromMs: end.atMs, toMs: first.atMs, meanKw: 0, lowestKw: 0 };
  const capKw = Math.max(held, first.value ?? 0);
  for (const line of known)
    for (const atMostKw of [Number.POSITIVE_INFINITY, capKw]) {
      const steps = stepsOf(line, gap, atMostKw);
      const isRight = steps?.[0]?.value === held && steps.at(-1)?.value === first.value;
      if (steps !== undefined && isRight) return [...stored.slice(0, -1), ...steps.slice(1), ...live];
    }
  return [...stored.slice(0, -1), ...live];
}

function flat(atMs: EpochMs, value: number): StepLine {
  return [{ atMs, value }];
}

/** Removes the end of a roll-up if the next one begins at the same instant. */
function tidy(steps: readonly Step[]): StepLine {
  return steps.filter(({ atMs }, i) => steps[i + 1]?.atMs !== atMs);
}

/** The lower value, because two limits apply at once; if only one is known, that one. */
export function lowerOf(one: StepLine, other: StepLine): StepLine {
  return combined(one, other, (a, b) => (a === null || b === null ? (a ?? b) : Math.min(a, b)));
}

/** The higher value; if only one is known, that one. */
export function higherOf(one: StepLine, other: StepLine): StepLine {
  return combined(one, other, (a, b) => (a === null || b === null ? (a ?? b) : Math.max(a, b)));
}

/** `known` until `atMs`, and afterwards the steps of `planned`. */
export function thenPlanned(known: StepLine, planned: StepLine, atMs: EpochMs): StepLine {
  return [...known.filter((step) => step.atMs <= atMs), ...planned.filter((step) => step.atMs > atMs)];
}
