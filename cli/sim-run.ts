// `headroom sim run`: one scenario from beginning to end, with its results as a table and, on request, as files.

import { SingleBar } from 'cli-progress';
import { counted } from '../machines/values/counted.js';
import { invariantName } from '../sim/report/legend.js';
import { formatFailure } from '../sim/run/expectation-judge.js';
import { REPORT_FILE, type RunResult } from '../sim/run/run-account.js';
import { type RunProgress, runScenario } from '../sim/run/run-scenario.js';
import type { Scenario } from '../sim/scenario/scenario.js';
import type { FuseLoad } from '../sim/world/power-watch.js';
import { systemClock } from '../src/clock.js';
import { toInstant } from '../src/wire/instants.js';
import { printJson, printLine, printNote, printTable } from './print.js';
import { readScenario, reproductionOf } from './sim-flags.js';
import { claimJunit, writeRunJunit } from './sim-junit.js';
import { legendLines } from './sim-legend.js';
import type { RunFlags } from './sim-options.js';
import { CONNECTORS_FILE, claimTables, SESSIONS_FILE, writeTables } from './sim-tables.js';

const SHOWN_FAILURES = 10;
const HEAD = [
  'location',
  'peak kW',
  'limit kW',
  'delivered',
  'of requested kWh',
  'utilised',
  'limit changes',
  'starts/session',
  'fairness',
  'locked and throttled',
  'violations',
];

/** In a terminal, a progress bar with simulated time, speed and violations; otherwise no output. */
function createBar({ startsAtMs, endsAtMs }: Scenario) {
  const bar = new SingleBar({
    format: '{bar} {percentage} %  {instant}  {speed} × real time  {violations} violations',
    hideCursor: true,
    clearOnComplete: true,
    stream: process.stderr,
  });
  const beganAtMs = systemClock.monotonicMs();
  const told = ({ simulatedMs, violations }: RunProgress) => ({
    violations,
    instant: `${toInstant(startsAtMs + simulatedMs).slice(0, 16)}Z`,
    speed: Math.round(simulatedMs / Math.max(1, systemClock.monotonicMs() - beganAtMs)),
  });
  bar.start(endsAtMs - startsAtMs, 0, told({ simulatedMs: 0, violations: 0 }));
  return {
    update: (progress: RunProgress) => bar.update(progress.simulatedMs, told(progress)),
    stop: () => bar.stop(),
  };
}

function kw(watts: number | undefined): string {
  return watts === undefined ? '-' : (watts / 1000).toFixed(1);
}

function percent(share: number | undefined): string {
  return share === undefined ? '-' : `${(100 * share).toFixed(1)} %`;
}

function printLocations({ summary }: RunResult): void {
  printTable(
    HEAD,
    summary.locations.map((location) => [
      location.locationId,
      kw(location.peakW),
      kw(location.limitAtPeakW),
      percent(location.requestedWh === 0 ? undefined : location.deliveredWh / location.requestedWh),
      (location.requestedWh / 1000).toFixed(1),
      percent(location.utilisation),
      location.limitChanges,
      location.startsPerSession?.toFixed(2) ?? '-',
      location.fairness?.toFixed(3) ?? '-',
      `${Math.round(location.lockedThrottledS)} s`,
      location.violations,
    ]),
  );
}

function printOutcome(result: RunResult, flags: RunFlags, elapsedMs: number): void {
  const { scenario, summary, failures, violations, hash, counts, imports, billedPeaks, fuses } = result;
  const simulatedMs = scenario.endsAtMs - scenario.startsAtMs;
  printLocations(result);
  const hours = (simulatedMs / 3_600_000).toFixed(1);
  const speed = Math.round(simulatedMs / Math.max(1, elapsedMs));
  const messages = counts.fromChargers + counts.toChargers;
  printLine(
    `\n${scenario.name}, seed ${scenario.seed}: ${hours} h in ${(elapsedMs / 1000).toFixed(1)} s (${speed} × real time), ${counted(messages, 'message')}, ${counted(summary.violations, 'violation')}`,
  );
  for (const { locationId, excusedKws, brokenKws } of imports)
    printLine(
      `${locationId} imported ${excusedKws} kW s above its connection before chargers could follow its building, ${brokenKws} kW s after`,
    );
  for (const { locationId, highestMeanKw, limitKw } of billedPeaks)
    printLine(
      `${locationId} imported ${highestMeanKw} kW on average in its highest billed window, of ${limitKw} kW`,
    );
  for (const { locationId, name, mostA, carriesA, overAs } of fullestOf(fuses))
    printLine(
      `${locationId} drew at most ${mostA.toFixed(1)} A on ${name}, which carries ${carriesA} A; ${overAs} A s above its fuses`,
    );
  printLine(`trace ${hash}`);
  if (flags.out !== undefined) printLine(`report ${flags.out}/${REPORT_FILE}`);
  if (flags.csv !== undefined)
    printLine(`tables ${flags.csv}/${CONNECTORS_FILE}, ${flags.csv}/${SESSIONS_FILE}`);
  printLine('');
  for (const line of legendLines()) printLine(line);
  for (const failure of failures.slice(0, SHOWN_FAILURES))
    printNote(`unmet expectation: ${formatFailure(failure)}`);
  if (failures.length > SHOWN_FAILURES) printNote(`and ${failures.length - SHOWN_FAILURES} more`);
  const [first] = violations;
  if (first !== undefined)
    printNote(
      `first violation: ${invariantName(first.invariant)} at ${toInstant(first.atMs)}, ${first.target}: ${first.detail}`,
    );
  if (!isGood(result)) printNote(`again: ${reproductionOf(scenario, flags, flags.out)}`);
}

/**
 * For each location, the fuse phase with the highest load relative to its rating. Its `overAs` is the sum over all
 * phases.
 */
function fullestOf(fuses: readonly FuseLoad[]): readonly FuseLoad[] {
  const fullest = new Map<string, FuseLoad>();
  for (const each of fuses) {
    const { locationId, mostA, carriesA, overAs } = each;
    const before = fullest.get(locationId) ?? { ...each, overAs: 0 };
    const isFuller = mostA * before.carriesA > before.mostA * carriesA;
    fullest.set(locationId, { ...(isFuller ? each : before), overAs: before.overAs + overAs });
  }
  return [...fullest.values()];
}

function isGood({ failures, summary }: RunResult): boolean {
  return failures.length === 0 && summary.violations === 0;
}

export async function run(path: string, flags: RunFlags): Promise<void> {
  const scenario = readScenario(path, flags);
  claimJunit(flags.junit);
  claimTables(flags.csv);
  const bar = process.stderr.isTTY && !flags.json ? createBar(scenario) : undefined;
  const beganAtMs = systemClock.monotonicMs();
  const result = await runScenario(scenario, {
    workers: flags.workers,
    ...(flags.out === undefined ? {} : { outDir: flags.out }),
    ...(bar === undefined ? {} : { onProgress: bar.update }),
  }).finally(() => bar?.stop());
  const elapsedMs = systemClock.monotonicMs() - beganAtMs;
  const again = reproductionOf(scenario, flags, flags.out);
  if (flags.junit !== undefined) writeRunJunit(flags.junit, result, elapsedMs, again);
  if (flags.csv !== undefined)
    writeTables(flags.csv, [{ seed: scenario.seed, locations: result.summary.locations }]);
  if (flags.json) {
    const { failures, violations, hash, counts, imports, billedPeaks, fuses, summary } = result;
    printJson({
      scenario: scenario.name,
      seed: scenario.seed,
      hash,
      elapsedMs,
      counts,
      imports,
      billedPeaks,
      fuses,
      failures,
      again,
      violations,
      summary,
    });
  } else {
    printOutcome(result, flags, elapsedMs);
  }
  if (!isGood(result)) process.exitCode = 1;
}
