// The limit in force of the past, drawn from roll-ups: each has the mean and the lowest of its stretch, and not when the limit changed.
// A mean is no limit that ever was: inside a window of 22 kW that begins in the minute it says 29 kW. So the steps are put where they
// are known to have been, wherever that agrees with what the roll-up has.
import type { EpochMs } from '../../machines/values/time.js';
import type { LocationPower } from '../../src/wire/operator-history.js';
import { combined, continued, type Step, type StepLine, since, valueAt } from './step-line.js';

export interface LimitInForce {
  /** Steps where they are known; the mean of a roll-up in which they are not. */
  readonly inForceKw: StepLine;
  /** The lowest limit of the roll-ups in which the steps are not known; null elsewhere. */
  readonly lowestKw: StepLine;
  /** The highest limit of the roll-ups in which it changed, for all of them: power is known as a mean only; null elsewhere. */
  readonly highestKw: StepLine;
}

/** Means are stored in whole watts. */
const ROUNDING_KW = 0.001;
/** A limit is in force this much after its boundary at most, as a rule: until the next decision. */
const LATE_MS = 1_000;
/** Stored roll-ups end with the last full minute, and events begin when the page was opened: the gap between them. */
export const UNTOLD_AT_MOST_MS = 65_000;

interface RollUp {
  readonly fromMs: EpochMs;
  readonly toMs: EpochMs;
  readonly meanKw: number;
  readonly lowestKw: number;
}

/**
 * @param known lines that the limit in force may have followed, such as the effective limit: exact, each a candidate
 * @param live what was told since the page was opened
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

/** The limit that holds where a roll-up ends: that of the next one, or what the page was told first. */
function settledKwAfter(rollUps: readonly RollUp[], i: number, live: StepLine): number | undefined {
  const [ended, next] = [rollUps[i], rollUps[i + 1]];
  if (ended === undefined) return undefined;
  if (next !== undefined) return next.fromMs === ended.toMs && isSettled(next) ? next.meanKw : undefined;
  const [first] = live;
  if (first === undefined || first.atMs - ended.toMs > UNTOLD_AT_MOST_MS) return undefined;
  return valueAt(live, Math.max(ended.toMs, first.atMs)) ?? undefined;
}

/** undefined where nothing that is known agrees with the roll-up. */
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

/** Its mean and its lowest are those of the roll-up, but for the moment that a change takes. */
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

/** A change from the limit before to the limit after has one place in which the mean is right. */
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

/** What the page was told goes on from the roll-ups. In the minute between them the limit is what a known line agrees with on both sides. */
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

/** Without the ends that the next roll-up goes on from. */
function tidy(steps: readonly Step[]): StepLine {
  return steps.filter(({ atMs }, i) => steps[i + 1]?.atMs !== atMs);
}

/** The lower of both where both are known: two limits that hold at once. */
export function lowerOf(one: StepLine, other: StepLine): StepLine {
  return combined(one, other, (a, b) => (a === null || b === null ? (a ?? b) : Math.min(a, b)));
}

/** The higher of both where either is known. */
export function higherOf(one: StepLine, other: StepLine): StepLine {
  return combined(one, other, (a, b) => (a === null || b === null ? (a ?? b) : Math.max(a, b)));
}

/** What is known until `atMs`, then what is planned: its steps after that instant. */
export function thenPlanned(known: StepLine, planned: StepLine, atMs: EpochMs): StepLine {
  return [...known.filter((step) => step.atMs <= atMs), ...planned.filter((step) => step.atMs > atMs)];
}
