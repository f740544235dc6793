// A quantity over time as steps: each value applies until the next one. Charts and sentences of the page use it.
import type { EpochMs } from '../../machines/values/time.js';

export interface Step {
  readonly atMs: EpochMs;
  /** In the unit of its line, such as kW; null if unknown. */
  readonly value: number | null;
}

/** In ascending order of time. */
export type StepLine = readonly Step[];

/** The value at `atMs`; null before the first step. */
export function valueAt(line: StepLine, atMs: EpochMs): number | null {
  let low = 0;
  let high = line.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((line[middle]?.atMs ?? 0) <= atMs) low = middle + 1;
    else high = middle;
  }
  return line[low - 1]?.value ?? null;
}

/** At each instant the highest value of the last `windowMs`; null at instants where the line is null. */
export function highestOfLast(line: StepLine, windowMs: number): StepLine {
  const endsAtMs = line.map((_, i) => (line[i + 1]?.atMs ?? Number.POSITIVE_INFINITY) + windowMs);
  const instants = new Set([...line.map(({ atMs }) => atMs), ...endsAtMs].filter(Number.isFinite));
  // In descending order of value, each with the instant at which it leaves the window.
  let candidates: { readonly value: number; readonly untilMs: EpochMs }[] = [];
  const steps: Step[] = [];
  let next = 0;
  for (const instant of [...instants].sort((a, b) => a - b)) {
    for (let step = line[next]; step !== undefined && step.atMs <= instant; step = line[next]) {
      const { value } = step;
      if (value !== null) {
        while ((candidates.at(-1)?.value ?? Number.POSITIVE_INFINITY) <= value) candidates.pop();
        candidates.push({ value, untilMs: endsAtMs[next] ?? Number.POSITIVE_INFINITY });
      }
      next++;
    }
    candidates = candidates.filter(({ untilMs }) => untilMs > instant);
    const highest = line[next - 1]?.value === null ? null : (candidates[0]?.value ?? null);
    if (steps.length === 0 || steps.at(-1)?.value !== highest) steps.push({ atMs: instant, value: highest });
  }
  return steps;
}

/** `earlier` until the first step of `later`, and `later` from there on. */
export function continued(earlier: StepLine, later: StepLine): StepLine {
  const [first] = later;
  if (first === undefined) return earlier;
  return [...earlier.filter(({ atMs }) => atMs < first.atMs), ...later];
}

/**
 * The same, except for a gap of up to `gapMs` between the two: the last value of `earlier` extends over the gap,
 * because the service reports the actual value later.
 */
export function bridged(earlier: StepLine, later: StepLine, gapMs: number): StepLine {
  const [first] = later;
  const end = earlier.at(-1);
  const isGap = first !== undefined && end?.value === null && end.atMs < first.atMs;
  if (!isGap || first.atMs - end.atMs > gapMs) return continued(earlier, later);
  return [...earlier.slice(0, -1), ...later];
}

/** `join` of both values at each instant with a step in either line. */
export function combined(
  one: StepLine,
  other: StepLine,
  join: (a: number | null, b: number | null) => number | null,
): StepLine {
  const instants = [...new Set([...one, ...other].map(({ atMs }) => atMs))].sort((a, b) => a - b);
  const [ones, others] = [valuesAt(one, instants), valuesAt(other, instants)];
  return instants.map((atMs, i) => ({ atMs, value: join(ones[i] ?? null, others[i] ?? null) }));
}

/** The line from `fromMs` on; its first step has the value at that instant. */
export function since(line: StepLine, fromMs: EpochMs): StepLine {
  return [{ atMs: fromMs, value: valueAt(line, fromMs) }, ...line.filter(({ atMs }) => atMs > fromMs)];
}

/** The line until `toMs`, and null from there on. */
export function until(line: StepLine, toMs: EpochMs): StepLine {
  return [...line.filter(({ atMs }) => atMs < toMs), { atMs: toMs, value: null }];
}

/**
 * Instants of all steps inside the span, and both ends of the span; then for each line a column with its values. Each
 * end of a line adds an instant one millisecond earlier, because a chart draws only up to the last value.
 */
export function columnsOf(
  lines: readonly StepLine[],
  fromMs: EpochMs,
  toMs: EpochMs,
): readonly [number[], ...(number | null)[][]] {
  const inside = lines.flatMap((line) =>
    line
      .flatMap(({ atMs, value }) => (value === null ? [atMs - 1, atMs] : [atMs]))
      .filter((atMs) => atMs > fromMs && atMs < toMs),
  );
  const instants = [...new Set([fromMs, ...inside, toMs])].sort((a, b) => a - b);
  return [instants, ...lines.map((line) => valuesAt(line, instants))];
}

/** Runs in a single pass, because both lists are in order. */
function valuesAt(line: StepLine, instants: readonly EpochMs[]): (number | null)[] {
  let next = 0;
  return instants.map((instant) => {
    for (let step = line[next]; step !== undefined && step.atMs <= instant; step = line[next]) next++;
    return line[next - 1]?.value ?? null;
  });
}
