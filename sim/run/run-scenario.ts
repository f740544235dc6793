// Runs one scenario from its first instant to its last, or several futures of one scenario.
import type { Scenario } from '../scenario/scenario.js';
import { sessionsOf } from '../sessions/sessions-of.js';
import { CellHosts, type OpenCell } from './cell-hosts.js';
import { type Cell, cellsOf, hasMore } from './cells.js';
import { RunAccount, type RunResult } from './run-account.js';

export interface RunProgress {
  /** Simulated part of the scenario's duration. */
  readonly simulatedMs: number;
  readonly violations: number;
}

export interface RunOptions {
  /** Settings of the service, as environment variables. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Number of threads that share the locations, 1 by default; the events are the same with any number. */
  readonly workers?: number;
  readonly onProgress?: (progress: RunProgress) => void;
}

/** A scenario, and the folder of report.html, trace.log and summary.json; without `outDir`, no file is written. */
export interface Future {
  readonly scenario: Scenario;
  readonly outDir?: string | undefined;
}

/** A cell, and the futures that contain it: index of the future, and index of the cell in this future. */
interface SharedCell {
  readonly cell: Cell;
  readonly members: { readonly future: number; readonly nth: number }[];
}

/** Cells run for this long, one after another, before their events are merged. */
const STRETCH_MS = 300_000;

/** @throws UnusableFileError if its sessions come from a file that cannot be used. */
export async function runScenario(
  scenario: Scenario,
  { outDir, ...options }: RunOptions & { readonly outDir?: string } = {},
): Promise<RunResult> {
  const [result] = await runFutures([{ scenario, outDir }], options);
  if (result === undefined) throw new RangeError('nothing was run');
  return result;
}

/**
 * Runs a scenario and branches of it side by side. A cell without a difference runs once for all futures.
 * @param futures the scenario first, then its branches with additional calls and faults.
 * @throws UnusableFileError if their sessions come from a file that cannot be used.
 */
export async function runFutures(
  futures: readonly Future[],
  { settings = {}, workers = 1, onProgress = () => {} }: RunOptions = {},
): Promise<readonly RunResult[]> {
  // An unusable file of sessions must fail before any file is written.
  const divided = futures.map(({ scenario }) => cellsOf(scenario, sessionsOf(scenario, scenario.seed)));
  const shared = sharedCells(divided);
  const accounts = futures.map(
    ({ scenario, outDir }, i) => new RunAccount(scenario, divided[i]?.length ?? 0, outDir),
  );
  const hosts = new CellHosts(shared.length, workers);
  const tell = (of: number, what: OpenCell['begun']) => {
    for (const { future, nth } of shared[of]?.members ?? []) accounts[future]?.add(nth, what.events);
  };
  try {
    const open = await hosts.openAll(
      shared.map(({ cell }) => cell),
      { environment: settings },
    );
    try {
      for (const [i, { begun }] of open.entries()) tell(i, begun);
      const { startsAtMs = 0, endsAtMs = 0 } = futures[0]?.scenario ?? {};
      for (let atMs = startsAtMs; atMs < endsAtMs; ) {
        atMs = Math.min(atMs + STRETCH_MS, endsAtMs);
        const news = await Promise.all(open.map((cell) => cell.advance(atMs)));
        for (const [i, each] of news.entries()) tell(i, each);
        for (const account of accounts) account.reached(atMs);
        const violations = news.reduce((sum, each) => sum + each.violations, 0);
        onProgress({ simulatedMs: atMs - startsAtMs, violations });
      }
      return await finish(accounts, shared, open);
    } finally {
      await Promise.all(open.map((cell) => cell.close()));
    }
  } finally {
    await hosts.close();
  }
}

async function finish(
  accounts: readonly RunAccount[],
  shared: readonly SharedCell[],
  open: readonly OpenCell[],
): Promise<readonly RunResult[]> {
  const ends = await Promise.all(open.map((cell) => cell.end()));
  const results: RunResult[] = [];
  for (const [future, account] of accounts.entries()) {
    const own = shared.flatMap(({ members }, i) => {
      const [end, member] = [ends[i], members.find((each) => each.future === future)];
      // A shared cell judges only the expectations of the first future that contains it.
      return end === undefined || member === undefined
        ? []
        : [{ end, nth: member.nth, isJudged: members[0] === member }];
    });
    results.push(await account.finish(own.sort((a, b) => a.nth - b.nth)));
  }
  return results;
}

/** @param divided the cells of each future; the first future is the scenario, the others are branches of it. */
function sharedCells(divided: readonly (readonly Cell[])[]): readonly SharedCell[] {
  const [planned = []] = divided;
  const shared: SharedCell[] = planned.map((cell, nth) => ({ cell, members: [{ future: 0, nth }] }));
  const byLocations = new Map(shared.map((each) => [[...each.cell.locationIds].join('\n'), each]));
  for (const [future, cells] of divided.entries()) {
    if (future === 0) continue;
    for (const [nth, cell] of cells.entries()) {
      const before = byLocations.get([...cell.locationIds].join('\n'));
      if (before !== undefined && !hasMore(cell, before.cell)) before.members.push({ future, nth });
      else shared.push({ cell, members: [{ future, nth }] });
    }
  }
  return shared;
}
