// Collects the results of a run: trace and hash, summary and report, failures.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { EpochMs } from '../../machines/values/time.js';
import { makeDirectory } from '../../src/private-files.js';
import { VERSION } from '../../src/version.js';
import type { BilledPeak, ImportOver } from '../checks/import-watch.js';
import { createTraceHash } from '../log/event-codec.js';
import { openTrace, TRACE_FILE, TraceWriter } from '../log/trace.js';
import type { TraceEvent } from '../log/trace-event.js';
import { type Summary, SummaryFold } from '../report/summary.js';
import { writeReport } from '../report/write-report.js';
import type { Scenario } from '../scenario/scenario.js';
import type { FuseLoad } from '../world/power-watch.js';
import type { World } from '../world/world.js';
import type { Violation } from '../world/world-record.js';
import type { CellEnd } from './cell-run.js';
import { ExpectationJudge, type Failure, formatFailure, isAsked } from './expectation-judge.js';
import { MergedEvents } from './merged-events.js';

export interface RunResult {
  readonly scenario: Scenario;
  readonly summary: Summary;
  readonly violations: readonly Violation[];
  readonly failures: readonly Failure[];
  /** SHA-256 of all events. */
  readonly hash: string;
  readonly counts: World['counts'];
  /** One for each site with a building. */
  readonly imports: readonly ImportOver[];
  /** One for each site with a limit of its average import. */
  readonly billedPeaks: readonly BilledPeak[];
  /** One for each phase of each fuse. */
  readonly fuses: readonly FuseLoad[];
}

export const REPORT_FILE = 'report.html';
const SUMMARY_FILE = 'summary.json';

/** The end of one cell. `isJudged`: its failed expectations belong to this run. */
export interface AccountedEnd {
  readonly end: CellEnd;
  readonly isJudged: boolean;
}

export class RunAccount {
  readonly #scenario: Scenario;
  readonly #outDir: string | undefined;
  readonly #writer: TraceWriter | undefined;
  readonly #hash = createTraceHash();
  readonly #summary: SummaryFold;
  readonly #judge: ExpectationJudge;
  readonly #events: MergedEvents;

  /** @param outDir folder of report.html, trace.log and summary.json; without it, no file is written. */
  constructor(scenario: Scenario, cells: number, outDir: string | undefined) {
    const writer = outDir === undefined ? undefined : createTrace(outDir, scenario);
    this.#scenario = scenario;
    this.#outDir = outDir;
    this.#writer = writer;
    this.#summary = new SummaryFold(scenario.startsAtMs);
    const expectations = scenario.expectations.filter((each) => !isAsked(each));
    this.#judge = new ExpectationJudge(expectations, []);
    this.#events = new MergedEvents(cells, (event) => {
      this.#summary.add(event);
      this.#judge.add(event);
      (writer ?? this.#hash).add(event);
    });
  }

  /** Adds events of one cell. */
  add(cell: number, events: readonly TraceEvent[]): void {
    this.#events.add(cell, events);
  }

  /** Call this after all cells have reached `instant`. */
  reached(instant: EpochMs): void {
    // More events may follow at the instant itself.
    this.#events.emitBefore(instant);
    this.#judge.judgeUntil(instant - 1);
  }

  /** @param ends the ends of the cells, in order. */
  async finish(ends: readonly AccountedEnd[]): Promise<RunResult> {
    const scenario = this.#scenario;
    const { endsAtMs } = scenario;
    this.#events.emitBefore(endsAtMs + 1);
    const summary = this.#summary.finish(endsAtMs);
    const failures = [
      ...ends.flatMap(({ end, isJudged }) => (isJudged ? [...end.failures, ...end.unmet] : end.failures)),
      ...this.#judge.finish(summary),
    ];
    const hash = this.#writer?.finish(endsAtMs) ?? this.#hash.digest();
    const result = { ...togetherOf(ends.map(({ end }) => end)), scenario, summary, failures, hash };
    if (this.#outDir !== undefined) await writeResult(this.#outDir, result);
    return result;
  }
}

function togetherOf(
  ends: readonly CellEnd[],
): Pick<RunResult, 'violations' | 'counts' | 'imports' | 'billedPeaks' | 'fuses'> {
  const violations = ends.flatMap((end) => end.violations).sort((a, b) => a.atMs - b.atMs);
  const sum = (of: (end: CellEnd) => number) => ends.reduce((total, end) => total + of(end), 0);
  const counts = {
    fromChargers: sum((end) => end.counts.fromChargers),
    toChargers: sum((end) => end.counts.toChargers),
  };
  const imports = ends.flatMap((end) => end.imports);
  const billedPeaks = ends.flatMap((end) => end.billedPeaks);
  return { violations, counts, imports, billedPeaks, fuses: ends.flatMap((end) => end.fuses) };
}

function createTrace(outDir: string, scenario: Scenario): TraceWriter {
  const { name, seed, startsAtMs, utcOffsetMs, grid } = scenario;
  makeDirectory(outDir);
  // The results of an earlier run must not remain next to the trace of an interrupted run.
  for (const name of [REPORT_FILE, SUMMARY_FILE]) rmSync(join(outDir, name), { force: true });
  return new TraceWriter(join(outDir, TRACE_FILE), {
    scenario: name,
    seed,
    startsAtMs,
    utcOffsetMs,
    commit: commitName(),
    grid: grid.map(({ name: line, locationIds }) => ({ name: line, locationIds })),
  });
}

async function writeResult(outDir: string, result: RunResult): Promise<void> {
  const { scenario, summary, violations, failures, hash, counts, imports, billedPeaks, fuses } = result;
  const { name, path, seed, transport } = scenario;
  const about = {
    scenario: name,
    path,
    seed,
    transport,
    hash,
    counts,
    imports,
    billedPeaks,
    fuses,
    failures,
  };
  // The summary has the number of all violations; the list holds only the ones that were kept.
  const told = { ...about, ...summary, violationsKept: violations };
  await writeFile(join(outDir, SUMMARY_FILE), `${JSON.stringify(told, null, 2)}\n`);
  const trace = openTrace(outDir);
  try {
    await writeReport(join(outDir, REPORT_FILE), trace, summary, failures.map(formatFailure));
  } finally {
    trace.close();
  }
}

const SHOWN_DIGITS = 12;

/** Commit of the checkout, or the version if there is no checkout: a trace names the code that produced it. */
export function commitName(): string {
  // Relative to the source or, for compiled code, to dist/.
  const roots = ['../../.git/', '../../../.git/'].map((path) => new URL(path, import.meta.url));
  const root = roots.find((url) => existsSync(new URL('HEAD', url)));
  if (root === undefined) return VERSION;
  const head = readFileSync(new URL('HEAD', root), 'utf8').trim();
  const reference = head.startsWith('ref: ') ? new URL(head.slice('ref: '.length), root) : undefined;
  if (reference === undefined) return head.slice(0, SHOWN_DIGITS);
  return existsSync(reference) ? readFileSync(reference, 'utf8').trim().slice(0, SHOWN_DIGITS) : VERSION;
}
