// Compares two runs: the figures of each, and the instant at which they begin to differ.
import { isDeepStrictEqual } from 'node:util';
import type { EpochMs } from '../../machines/values/time.js';
import type { Trace } from '../log/trace.js';
import { collectReport } from './collect-report.js';
import type { ComparedRun } from './report-data.js';
import { type Summary, SummaryFold } from './summary.js';

export interface Comparison {
  readonly first: Summary;
  readonly second: Summary;
  /** First instant with an event in only one of the runs; undefined if the runs are equal. */
  readonly differsAtMs: EpochMs | undefined;
}

/** Reads each trace once. */
export async function compareRuns(first: Trace, second: Trace): Promise<Comparison> {
  const sums = [first, second].map(({ subject }) => new SummaryFold(subject.startsAtMs));
  const [events, others] = [first.events(), second.events()];
  let differsAtMs: EpochMs | undefined;
  for (;;) {
    const [one, other] = [events.next(), others.next()];
    if (one.done === true && other.done === true) break;
    if (!one.done) sums[0]?.add(one.value);
    if (!other.done) sums[1]?.add(other.value);
    if (differsAtMs === undefined && !isDeepStrictEqual(one.value, other.value))
      differsAtMs = Math.min(...[one, other].map(({ done, value }) => (done ? Infinity : value.atMs)));
  }
  const [a, b] = [first, second].map(({ endsAtMs }, i) => sums[i]?.finish(endsAtMs));
  if (a === undefined || b === undefined) throw new RangeError('two runs are compared');
  return { first: a, second: b, differsAtMs };
}

/** `trace` as the second run in the report of another one. `differsAtMs` is the result of `compareRuns`. */
export async function comparedRun(
  trace: Trace,
  title: string,
  summary: Summary,
  differsAtMs: EpochMs | undefined,
): Promise<ComparedRun> {
  const { locations } = await collectReport(trace, summary);
  return {
    title,
    differsAtMs,
    summary,
    locations: locations.map(({ locationId, powerW, limits, allowedW }) => ({
      locationId,
      powerW,
      limitW: limits?.limitW ?? allowedW,
    })),
  };
}
