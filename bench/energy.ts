// Energy delivered on recorded sessions: by the service under calm and under faults, beside algorithms and the optimum.
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import Table from 'cli-table3';
import { systemClock } from '../src/clock.js';
import { toInstant } from '../src/wire/rest.js';
import { type Figure, machine, remark, report } from './bench.js';
import { optimumKwh } from './energy-optimum.js';
import { deliveredKwh, POLICIES } from './energy-policies.js';
import type { EnergyFigures } from './energy-run.js';
import { COLUMNS, type Column, type EnergyCase } from './energy-scenario.js';
import {
  readSteppedSessions,
  type SteppedSession,
  sessionFileBeside,
  type Window,
} from './energy-sessions.js';

/** Of what equal share delivers without floors, delays and losses. */
const GOALS: Readonly<Record<Column, number>> = { ideal: 1, calm: 0.97, heavy: 0.85 };
const DAY_MS = 86_400_000;

const { values } = parseArgs({
  options: {
    sessions: { type: 'string' },
    from: { type: 'string', default: '2019-03-12T12:00:00Z' },
    days: { type: 'string', default: '1' },
    caps: { type: 'string', default: '10,30' },
    columns: { type: 'string', default: 'ideal,calm' },
    jobs: { type: 'string', default: '1' },
    seed: { type: 'string', default: '1' },
  },
});

interface Cell extends EnergyFigures {
  readonly column: Column;
  readonly capKw: number;
}

function runCase(workerData: EnergyCase): Promise<EnergyFigures> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(new URL('./energy-run.js', import.meta.url), { workerData });
    thread.once('message', resolve);
    thread.once('error', reject);
  });
}

/** As many at once as `jobs` says; a line as each ends. */
async function runAll(cases: readonly EnergyCase[], jobs: number): Promise<readonly Cell[]> {
  const left = [...cases];
  const cells: Cell[] = [];
  async function work(): Promise<void> {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const beganMs = systemClock.monotonicMs();
      const cell = { column: next.column, capKw: next.capKw, ...(await runCase(next)) };
      const seconds = Math.round((systemClock.monotonicMs() - beganMs) / 1000);
      cells.push(cell);
      remark(`${cell.column}, ${cell.capKw} kW: ${JSON.stringify({ ...cell, seconds })}`);
    }
  }
  await Promise.all(Array.from({ length: jobs }, work));
  return cells;
}

function percentOf(part: number, whole: number): string {
  return ((100 * part) / whole).toFixed(2);
}

/** Both tables: what was delivered, and how. */
function printTables(cells: readonly Cell[], sessions: readonly SteppedSession[], capsKw: readonly number[]) {
  const requestedKwh = energyOf(sessions);
  const columns = COLUMNS.filter((column) => cells.some((cell) => cell.column === column));
  const style = { head: [], border: [] };
  const energy = new Table({ head: ['% of requested', 'optimum', ...POLICIES, ...columns], style });
  for (const capKw of capsKw) {
    const kwh = [
      optimumKwh(sessions, capKw),
      ...POLICIES.map((policy) => deliveredKwh(policy, sessions, capKw)),
      ...columns.map((column) => cellOf(cells, column, capKw)?.deliveredKwh ?? Number.NaN),
    ];
    energy.push([`${capKw} kW`, ...kwh.map((each) => percentOf(each, requestedKwh))]);
  }
  const head = ['', 'overshoot kWs', 'starts a session', 'stops a session', 'fairness', 'violations'];
  const quality = new Table({ head, style });
  for (const { column, capKw, fairness, ...cell } of cells) {
    const turns = [cell.startsPerSession, cell.stopsPerSession].map((times) => times.toFixed(2));
    const name = `${column}, ${capKw} kW`;
    quality.push([name, cell.overshootKws, ...turns, fairness.toFixed(3), cell.violations]);
  }
  for (const table of [energy, quality]) for (const line of table.toString().split('\n')) remark(line);
}

function cellOf(cells: readonly Cell[], column: Column, capKw: number): Cell | undefined {
  return cells.find((cell) => cell.column === column && cell.capKw === capKw);
}

function energyOf(sessions: readonly SteppedSession[]): number {
  return sessions.reduce((sum, { energyKwh }) => sum + energyKwh, 0);
}

function figureOf(
  { column, capKw, overshootKws, violations, deliveredKwh: ours }: Cell,
  equalKwh: number,
): Figure {
  const share = ours / equalKwh;
  const goal = GOALS[column];
  return {
    name: `Energy against equal share, ${column}, ${capKw} kW; overshoot ${overshootKws} kWs`,
    measured: `${(100 * share).toFixed(1)} %`,
    goal: `≥ ${100 * goal} %, no overshoot`,
    met: share >= goal && overshootKws === 0 && violations === 0,
  };
}

async function measure(path: string): Promise<void> {
  const fromMs = Date.parse(values.from);
  const window: Window = { fromMs, untilMs: fromMs + Number(values.days) * DAY_MS };
  const capsKw = values.caps.split(',').map(Number);
  const columns = COLUMNS.filter((column) => values.columns.split(',').includes(column));
  const sessions = readSteppedSessions(path, window);
  remark(
    `${machine()}; ${sessions.length} sessions, ${energyOf(sessions).toFixed(1)} kWh, ` +
      `${toInstant(window.fromMs)} to ${toInstant(window.untilMs)}, seed ${values.seed}`,
  );
  const common = { sessionsPath: path, seed: Number(values.seed), ...window };
  const cases = columns.flatMap((column) => capsKw.map((capKw) => ({ column, capKw, ...common })));
  const cells = await runAll(cases, Number(values.jobs));
  printTables(cells, sessions, capsKw);
  report(cells.map((cell) => figureOf(cell, deliveredKwh('equal share', sessions, cell.capKw))));
}

const path = values.sessions ?? sessionFileBeside();
if (path === undefined) remark('skipped: no recorded sessions; name a file with --sessions=…');
else await measure(path);
