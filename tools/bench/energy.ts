// Energy delivered on recorded sessions: by the service without and with faults, next to algorithms and the optimum.
import { Worker } from 'node:worker_threads';
import Table from 'cli-table3';
import type { PolicyName } from '../../machines/policy/policies.js';
import type { RecordedSession } from '../../sim/sessions/sessions-of.js';
import { sessionsOf } from '../../sim/sessions/sessions-of.js';
import { systemClock } from '../../src/clock.js';
import { UnusableFileError } from '../../src/provisioning/parse-yaml.js';
import { toInstant } from '../../src/wire/instants.js';
import { type Figure, machine, remark, report } from './bench.js';
import { forecastErrorsOf } from './energy-forecast.js';
import { optimumKwh } from './energy-optimum.js';
import { type EnergyOptions, OptionError, readOptions } from './energy-options.js';
import { deliveredKwh, POLICIES } from './energy-policies.js';
import type { EnergyFigures } from './energy-run.js';
import { type Column, type EnergyCase, energyScenario } from './energy-scenario.js';
import {
  readSessions,
  type SessionFile,
  type SteppedSession,
  sessionFileBeside,
  steppedSessions,
  type Window,
} from './energy-sessions.js';

/**
 * Relative to the energy of equal share without floors, delays and losses. There is no goal for chargers whose
 * fail-safes reserve current while idle.
 */
const GOALS: Readonly<Record<Column, number | undefined>> = {
  ideal: 1,
  calm: 0.97,
  untapered: 0.97,
  forgetful: undefined,
  heavy: 0.85,
};
const DAY_MS = 86_400_000;
const BUSY_DAY_MS = Date.UTC(2019, 2, 12, 12);

interface Cell extends EnergyFigures {
  readonly column: Column;
  readonly policy: PolicyName;
  readonly capKw: number;
}

function runCase(workerData: EnergyCase): Promise<EnergyFigures> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(new URL('./energy-run.js', import.meta.url), { workerData });
    thread.once('message', resolve);
    thread.once('error', reject);
    thread.once('exit', (code) => reject(new Error(`a thread ended with ${code} and without figures`)));
  });
}

/** Runs `jobs` cases at a time, and prints a line after each. */
async function runAll(cases: readonly EnergyCase[], jobs: number): Promise<readonly Cell[]> {
  const left = [...cases];
  const cells: Cell[] = [];
  async function work(): Promise<void> {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const beganMs = systemClock.monotonicMs();
      const { column, policy, capKw } = next;
      const cell = { column, policy, capKw, ...(await runCase(next)) };
      const seconds = Math.round((systemClock.monotonicMs() - beganMs) / 1000);
      cells.push(cell);
      remark(`${nameOf(cell)}, ${cell.capKw} kW: ${JSON.stringify({ ...cell, seconds })}`);
    }
  }
  await Promise.all(Array.from({ length: jobs }, work));
  return cells;
}

function percentOf(part: number, whole: number): string {
  return ((100 * part) / whole).toFixed(2);
}

/** Both tables: the delivered energy, and the conduct of the cases. */
function printTables(cells: readonly Cell[], sessions: readonly SteppedSession[], capsKw: readonly number[]) {
  const requestedKwh = energyOf(sessions);
  const columns = [...new Set(cells.map(nameOf))];
  const style = { head: [], border: [] };
  const energy = new Table({ head: ['% of requested', 'optimum', ...POLICIES, ...columns], style });
  for (const capKw of capsKw) {
    const kwh = [
      optimumKwh(sessions, capKw),
      ...POLICIES.map((policy) => deliveredKwh(policy, sessions, capKw)),
      ...columns.map((name) => cellOf(cells, name, capKw)?.deliveredKwh ?? Number.NaN),
    ];
    energy.push([`${capKw} kW`, ...kwh.map((each) => percentOf(each, requestedKwh))]);
  }
  const head = [
    '',
    'overshoot kWs',
    'starts a session',
    'stops a session',
    'fairness',
    'short',
    'violations',
  ];
  const quality = new Table({ head, style });
  for (const cell of cells) {
    const { capKw, fairness, short } = cell;
    const turns = [cell.startsPerSession, cell.stopsPerSession].map((times) => times.toFixed(2));
    const name = `${nameOf(cell)}, ${capKw} kW`;
    quality.push([name, cell.overshootKws, ...turns, fairness.toFixed(3), short, cell.violations]);
  }
  for (const table of [energy, quality]) for (const line of table.toString().split('\n')) remark(line);
}

async function printForecasts(cases: readonly EnergyCase[]): Promise<void> {
  for (const each of cases) {
    const { forecasts, met, medianMin } = await forecastErrorsOf(each);
    remark(
      `${nameOf(each)}, ${each.capKw} kW: ${forecasts} forecasts an hour ahead, ${met} of cars that got their need, ` +
        `median error ${medianMin.toFixed(1)} min`,
    );
  }
}

/** The column, with the policy unless that is `equal`. */
function nameOf({ column, policy }: Pick<Cell, 'column' | 'policy'>): string {
  return policy === 'equal' ? column : `${column} ${policy}`;
}

function cellOf(cells: readonly Cell[], name: string, capKw: number): Cell | undefined {
  return cells.find((cell) => nameOf(cell) === name && cell.capKw === capKw);
}

function energyOf(sessions: readonly SteppedSession[]): number {
  return sessions.reduce((sum, { energyKwh }) => sum + energyKwh, 0);
}

function figureOf(cell: Cell, equalKwh: number): Figure {
  const { column, capKw, overshootKws, violations, deliveredKwh: ours } = cell;
  const share = ours / equalKwh;
  const goal = GOALS[column];
  return {
    name: `Energy against equal share, ${nameOf(cell)}, ${capKw} kW; overshoot ${overshootKws} kWs`,
    measured: `${(100 * share).toFixed(1)} %`,
    goal: goal === undefined ? 'no overshoot' : `≥ ${100 * goal} %, no overshoot`,
    met: share >= (goal ?? 0) && overshootKws === 0 && violations === 0,
  };
}

/** The simulated time: from the busy day of the file next to the project, or else from the first arrival. */
function windowOf(
  { from, days, sessions: named }: EnergyOptions,
  sessions: readonly RecordedSession[],
): Window {
  const firstMs = sessions.reduce((least, { arrivesAtMs }) => Math.min(least, arrivesAtMs), Number.MAX_VALUE);
  const fromMs = from?.atMs ?? (named === undefined ? BUSY_DAY_MS : firstMs);
  return { fromMs, untilMs: fromMs + Math.round(days * DAY_MS) };
}

function steppedIn(window: Window, sessions: readonly RecordedSession[], path: string) {
  const stepped = steppedSessions(sessions, window);
  if (stepped.length > 0) return stepped;
  const arrivalsMs = sessions.map(({ arrivesAtMs }) => arrivesAtMs).sort((a, b) => a - b);
  const [first = 0, last = first] = [arrivalsMs[0], arrivalsMs.at(-1)];
  throw new UnusableFileError([
    `${path}: no session arrives from ${toInstant(window.fromMs)} to ${toInstant(window.untilMs)}; ` +
      `its cars come from ${toInstant(first)} to ${toInstant(last)}: choose with --from and --days`,
  ]);
}

async function measure(file: SessionFile, options: EnergyOptions): Promise<void> {
  const { caps, columns, jobs, seed, policies } = options;
  const declared = {
    declared: options.declared,
    timeErrorMs: Math.round(options['time-error'] * 3_600_000),
    needError: options['need-error'],
  };
  const recorded = readSessions(file);
  const window = windowOf(options, recorded);
  const sessions = steppedIn(window, recorded, file.path);
  const common = { sessions: file, seed, declared, ...window };
  const cases = columns.flatMap((column) =>
    policies.flatMap((policy) => caps.map((capKw) => ({ column, policy, capKw, ...common }))),
  );
  // A problem of the file is reported before any case runs.
  for (const first of cases.slice(0, 1)) sessionsOf(energyScenario(first), seed);
  remark(
    `${machine()}; ${sessions.length} sessions, ${energyOf(sessions).toFixed(1)} kWh, ` +
      `${toInstant(window.fromMs)} to ${toInstant(window.untilMs)}, seed ${seed}`,
  );
  const cells = await runAll(cases, jobs);
  printTables(cells, sessions, caps);
  // Cars declare departures under a policy only.
  if (options.forecasts) await printForecasts(cases.filter(({ policy }) => policy !== 'equal'));
  report(cells.map((cell) => figureOf(cell, deliveredKwh('equal share', sessions, cell.capKw))));
}

try {
  const options = readOptions(process.argv.slice(2));
  const path = options.sessions ?? sessionFileBeside();
  const { energy, 'time-zone': timeZone } = options;
  if (path === undefined) remark('skipped: no recorded sessions; name a file with --sessions=…');
  else await measure({ path, energy, timeZone }, options);
} catch (error) {
  if (!(error instanceof UnusableFileError || error instanceof OptionError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
