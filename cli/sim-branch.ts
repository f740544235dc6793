// `headroom sim branch`: compares two futures of a scenario from one instant, as planned and with more calls and
// faults.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { openTrace } from '../sim/log/trace.js';
import { runFutures } from '../sim/run/run-scenario.js';
import { branched, parseBranch } from '../sim/scenario/parse-scenario.js';
import type { Scenario } from '../sim/scenario/scenario.js';
import { OperatorError } from '../src/ports/operator-error.js';
import { toInstant } from '../src/wire/instants.js';
import { printNote } from './print.js';
import { printComparison } from './sim-compare.js';
import { readScenario } from './sim-flags.js';
import type { BranchFlags } from './sim-options.js';

const REPORT = 'compare.html';

/**
 * @throws OperatorError if the file cannot be read, or `at` lies outside the run. @throws UnusableFileError with every
 * problem.
 */
function readBranch(path: string, scenario: Scenario, { at }: BranchFlags): Scenario {
  const { startsAtMs, endsAtMs } = scenario;
  if (at < startsAtMs || at >= endsAtMs)
    throw new OperatorError(
      `--at lies outside the run, which goes from ${toInstant(startsAtMs)} to ${toInstant(endsAtMs)}`,
    );
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new OperatorError(`${path} cannot be read: ${error instanceof Error ? error.message : error}`);
  }
  const otherwise = branched(scenario, parseBranch(text, path, scenario, at));
  // Expectations apply only to the planned day.
  return { ...otherwise, name: `${scenario.name}, ${basename(path)}`, expectations: [] };
}

async function runBoth(scenario: Scenario, otherwise: Scenario, folder: string, flags: BranchFlags) {
  const folders = [join(folder, 'planned'), join(folder, 'branch')] as const;
  const futures = [
    { scenario, outDir: folders[0] },
    { scenario: otherwise, outDir: folders[1] },
  ];
  const results = await runFutures(futures, { workers: flags.workers });
  const [one, other] = [openTrace(folders[0]), openTrace(folders[1])];
  try {
    const named = [
      { name: 'planned', trace: one },
      { name: 'branch', trace: other },
    ] as const;
    const out = flags.out === undefined ? {} : { out: join(folder, REPORT) };
    await printComparison(named, { ...out, ...(flags.json === true ? { json: true } : {}) });
  } finally {
    one.close();
    other.close();
  }
  for (const { scenario: run, violations } of results) {
    const [first] = violations;
    if (first === undefined) continue;
    printNote(
      `${run.name}: ${first.invariant} at ${toInstant(first.atMs)}, ${first.target}: ${first.detail}`,
    );
    process.exitCode = 1;
  }
}

/** Exit code 1 if an invariant fails in either future. */
export async function branch(path: string, branchPath: string, flags: BranchFlags): Promise<void> {
  const scenario = readScenario(path, flags);
  const otherwise = readBranch(branchPath, scenario, flags);
  const folder = flags.out ?? mkdtempSync(join(tmpdir(), 'headroom-branch-'));
  try {
    await runBoth(scenario, otherwise, folder, flags);
  } finally {
    if (flags.out === undefined) rmSync(folder, { recursive: true, force: true });
  }
}
