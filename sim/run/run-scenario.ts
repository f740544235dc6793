// Runs one scenario from its first instant to its last, and tells what came of it.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeDirectory } from '../../src/private-files.js';
import { VERSION } from '../../src/version.js';
import type { BilledPeak } from '../checks/billed-watch.js';
import type { ImportOver } from '../checks/import-watch.js';
import { type Summary, SummaryFold } from '../report/summary.js';
import { writeReport } from '../report/write-report.js';
import type { Scenario } from '../scenario/scenario.js';
import { sessionsOf } from '../sessions/sessions-of.js';
import { createTraceHash } from '../trace/trace-hash.js';
import { openTraceReader } from '../trace/trace-reader.js';
import { openTraceWriter, type TraceWriter } from '../trace/trace-writer.js';
import type { FuseLoad } from '../world/fuse-watch.js';
import type { Violation } from '../world/power-watch.js';
import type { World } from '../world/world.js';
import { openCells } from './cell-hosts.js';
import type { CellEnd } from './cell-run.js';
import { cellsOf } from './cells.js';
import { ExpectationJudge, type Failure, formatFailure, isAsked } from './expectation-judge.js';
import { MergedEvents } from './merged-events.js';

export interface RunProgress {
  /** Of the scenario's duration. */
  readonly simulatedMs: number;
  readonly violations: number;
}

export interface RunResult {
  readonly scenario: Scenario;
  readonly summary: Summary;
  readonly violations: readonly Violation[];
  readonly failures: readonly Failure[];
  /** SHA-256 of everything that happened. */
  readonly hash: string;
  readonly counts: World['counts'];
  /** Of each site with a building. */
  readonly imports: readonly ImportOver[];
  /** Of each site whose average import is limited. */
  readonly billedPeaks: readonly BilledPeak[];
  /** Of each phase of each fuse. */
  readonly fuses: readonly FuseLoad[];
}

export const REPORT_FILE = 'report.html';
export const TRACE_FILE = 'trace.sqlite';
export const SUMMARY_FILE = 'summary.json';

/** Cells run this far, one after another, before what happened in them is put in order. */
const STRETCH_MS = 300_000;

/**
 * @param options.outDir where report.html, trace.sqlite and summary.json go; without it nothing is written.
 * @param options.settings of the service, as environment variables.
 * @param options.workers how many threads share its locations; the same course of events with any number.
 * @throws UnusableFileError where its sessions come from a file that cannot be used.
 */
export async function runScenario(
  scenario: Scenario,
  options: {
    readonly outDir?: string;
    readonly settings?: Readonly<Record<string, string>>;
    readonly workers?: number;
    readonly onProgress?: (progress: RunProgress) => void;
  } = {},
): Promise<RunResult> {
  const { outDir, settings = {}, workers = 1, onProgress = () => {} } = options;
  const { startsAtMs, endsAtMs } = scenario;
  // A file of sessions that cannot be used is told before anything is written.
  const cells = cellsOf(scenario, sessionsOf(scenario, scenario.seed));
  const writer = outDir === undefined ? undefined : await openWriter(outDir, scenario);
  const hash = createTraceHash();
  const summary = new SummaryFold(startsAtMs);
  const judge = new ExpectationJudge(
    scenario.expectations.filter((each) => !isAsked(each)),
    [],
  );
  const events = new MergedEvents(cells.length, (event) => {
    summary.add(event);
    judge.add(event);
    if (writer === undefined) hash.add(event);
    else writer.add(event);
  });
  const hosts = await openCells({ cells, settings }, workers);
  try {
    for (let atMs = startsAtMs; atMs < endsAtMs; ) {
      atMs = Math.min(atMs + STRETCH_MS, endsAtMs);
      const news = (await Promise.all(hosts.map((host) => host.advance(atMs)))).flat();
      for (const [cell, each] of news.entries()) events.add(cell, each.events);
      // At the instant itself more may happen.
      events.emitBefore(atMs);
      judge.judgeUntil(atMs - 1);
      await writer?.drained();
      const violations = news.reduce((sum, each) => sum + each.violations, 0);
      onProgress({ simulatedMs: atMs - startsAtMs, violations });
    }
    events.emitBefore(endsAtMs + 1);
    const done = summary.finish(endsAtMs);
    const ends = (await Promise.all(hosts.map((host) => host.end()))).flat();
    const failures = [...ends.flatMap((end) => end.failures), ...judge.finish(done)];
    const digest = (await writer?.finish(endsAtMs)) ?? hash.digest();
    const result = { ...togetherOf(ends), scenario, summary: done, failures, hash: digest };
    if (outDir !== undefined) await writeResult(outDir, result);
    return result;
  } finally {
    await Promise.all(hosts.map((host) => host.close()));
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

function openWriter(outDir: string, scenario: Scenario): Promise<TraceWriter> {
  const { name, seed, startsAtMs, utcOffsetMs, grid } = scenario;
  makeDirectory(outDir);
  // What an earlier run left must not lie beside the trace of one that is cut short.
  for (const name of [REPORT_FILE, SUMMARY_FILE]) rmSync(join(outDir, name), { force: true });
  return openTraceWriter(join(outDir, TRACE_FILE), {
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
  // The count of all is the summary's; those kept are told one by one.
  const told = { ...about, ...summary, violationsKept: violations };
  await writeFile(join(outDir, SUMMARY_FILE), `${JSON.stringify(told, null, 2)}\n`);
  const trace = await openTraceReader(join(outDir, TRACE_FILE));
  try {
    await writeReport(join(outDir, REPORT_FILE), trace, summary, failures.map(formatFailure));
  } finally {
    await trace.close();
  }
}

const SHOWN_DIGITS = 12;

/** The commit of the checkout this runs in, or the version where there is none: a trace says which code it is of. */
export function commitName(): string {
  // From source or, compiled, from dist/.
  const roots = ['../../.git/', '../../../.git/'].map((path) => new URL(path, import.meta.url));
  const root = roots.find((url) => existsSync(new URL('HEAD', url)));
  if (root === undefined) return VERSION;
  const head = readFileSync(new URL('HEAD', root), 'utf8').trim();
  const reference = head.startsWith('ref: ') ? new URL(head.slice('ref: '.length), root) : undefined;
  if (reference === undefined) return head.slice(0, SHOWN_DIGITS);
  return existsSync(reference) ? readFileSync(reference, 'utf8').trim().slice(0, SHOWN_DIGITS) : VERSION;
}
