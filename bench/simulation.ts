// How fast simulated days go: in process, with ten times as many connectors, through the real broker, and where time goes.
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { rehearse } from '../sim/run/rehearsal.js';
import { parseScenario } from '../sim/scenario/parse-scenario.js';
import { openTraceReader } from '../sim/trace/trace-reader.js';
import { systemClock } from '../src/clock.js';
import { machine, median, percent, remark, report } from './bench.js';
import type { SimulationRun, SimulationTask } from './simulation-run.js';

const execute = promisify(execFile);
const GOAL_PER_S = 150_000;
const ROUNDS = 3;
const TEN_TIMES_MINUTES = 10;
const BROKER_MINUTES = 5;
const REWIND_GOAL_MS = 300;
const ORDINARY_DAY = fileURLToPath(new URL('../../scenarios/ordinary-depot-day.yaml', import.meta.url));
const OUTPUT_BYTES = 1 << 26;
const MEBIBYTE = 2 ** 20;

/** Connector-periods a second of ACN-Sim, as measured for the design of this simulator. */
const PEER = 'ACN-Sim: 4,700 (round robin) to 38,000 (uncontrolled) connector-periods/s at 1,000 stations';

const named = process.argv.find((word) => word.startsWith('--hours='));
const hours = Number(named?.slice('--hours='.length) ?? 1);

async function simulate(task: Partial<SimulationTask>): Promise<SimulationRun> {
  const whole: SimulationTask = {
    locations: 20,
    connectorsEach: 50,
    minutes: 60 * hours,
    transport: 'inProcess',
    isProfiled: false,
    ...task,
  };
  const path = fileURLToPath(new URL('./simulation-run.js', import.meta.url));
  const args = ['--max-old-space-size=6144', path, JSON.stringify(whole)];
  const { stdout } = await execute(process.execPath, args, { maxBuffer: OUTPUT_BYTES });
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
}

const perS = ({ readings, wallMs }: SimulationRun) => (1000 * readings) / wallMs;
const cpuUs = ({ readings, cpuMs }: SimulationRun) => (1000 * cpuMs) / readings;
const thousands = (value: number) => Math.round(value).toLocaleString('en');
const mebibytes = (bytes: number) => `${(bytes / MEBIBYTE).toFixed(0)} MiB`;

remark(`${machine()}; 1,000 connectors in 20 locations, ${hours} h after 5 min of warm-up, invariants on`);
const runs: SimulationRun[] = [];
for (let round = 0; round < ROUNDS; round++) runs.push(await simulate({}));
const speed = median(runs.map(perS));
const costUs = median(runs.map(cpuUs));
const [first] = runs;
const [heapBefore, heapAfter] = first?.heapBytes ?? [0, 0];
const dayS = (86_400 / 10) * 1_000 * (1 / speed);
remark(`a day of 1,000 connectors would take ${dayS.toFixed(0)} s; ${PEER}`);

const large = await simulate({ locations: 200, minutes: TEN_TIMES_MINUTES });
const growth = cpuUs(large) / costUs;
const broker = await simulate({ transport: 'mqtt', minutes: BROKER_MINUTES });
remark(
  `through the real broker: ${thousands(perS(broker))} readings/s, ${cpuUs(broker).toFixed(0)} µs of processor each`,
);

const profiled = await simulate({ isProfiled: true });
remark('where time goes in process:');
for (const { part, share } of profiled.parts ?? []) remark(`  ${percent(share).padStart(5)}  ${part}`);

async function measureReplay(): Promise<number> {
  const dir = mkdtempSync(join(tmpdir(), 'headroom-bench-'));
  try {
    const command = fileURLToPath(new URL('../../bin/headroom.js', import.meta.url));
    await execute(process.execPath, [command, 'sim', 'run', ORDINARY_DAY, '--out', dir], {
      maxBuffer: OUTPUT_BYTES,
    });
    const trace = await openTraceReader(join(dir, 'trace.sqlite'));
    const { startsAtMs } = trace.subject;
    const instants = [0.1, 0.5, 0.9].map((share) => startsAtMs + Math.round(share * 86_400_000));
    await trace.close();
    const times: number[] = [];
    for (const instant of instants) {
      const beganAtMs = systemClock.monotonicMs();
      const at = new Date(instant).toISOString();
      await execute(process.execPath, [command, 'sim', 'replay', dir, '--at', at], {
        maxBuffer: OUTPUT_BYTES,
      });
      times.push(systemClock.monotonicMs() - beganAtMs);
    }
    return Math.max(...times);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
const replayMs = await measureReplay();

/** Back by six hours from the end of the ordinary day of twelve connectors, and a call there: what lies before is run again. */
async function measureRewind(): Promise<{ readonly rewindMs: number; readonly actMs: number }> {
  const scenario = parseScenario(readFileSync(ORDINARY_DAY, 'utf8'), ORDINARY_DAY);
  const rehearsal = await rehearse(scenario);
  const { endsAtMs } = scenario;
  await rehearsal.travelTo(endsAtMs);
  const beganAtMs = systemClock.monotonicMs();
  await rehearsal.rewindTo(endsAtMs - 6 * 3_600_000);
  const wentBackAtMs = systemClock.monotonicMs();
  await rehearsal.call('PUT', '/locations/site-1/limit', { limitKw: 40 });
  const actedAtMs = systemClock.monotonicMs();
  await rehearsal.close();
  return { rewindMs: wentBackAtMs - beganAtMs, actMs: actedAtMs - wentBackAtMs };
}
const { rewindMs, actMs } = await measureRewind();

report([
  {
    name: 'Simulated connector-readings a second, in process, 1,000 connectors',
    measured: `${thousands(speed)} (${costUs.toFixed(1)} µs of processor each)`,
    goal: `≥ ${thousands(GOAL_PER_S)}`,
    met: speed >= GOAL_PER_S,
  },
  {
    name: 'Cost of a simulated reading with 10,000 connectors, against 1,000',
    measured: `${growth.toFixed(2)} ×`,
    goal: '≤ 1.5 ×',
    met: growth <= 1.5,
  },
  {
    name: `Heap in use after ${hours} simulated hours`,
    measured: `${mebibytes(heapBefore)} → ${mebibytes(heapAfter)}`,
    goal: 'no growth',
    met: heapAfter <= 1.1 * heapBefore,
  },
  {
    name: '`sim replay --at`, the command as a whole, an ordinary day',
    measured: `${Math.round(replayMs)} ms`,
    goal: '≤ 1 s',
    met: replayMs <= 1000,
  },
  {
    name: '`rewindTo` six hours before the end of an ordinary day of 12 connectors',
    measured: `${Math.round(rewindMs)} ms`,
    goal: '≤ 300 ms',
    met: rewindMs <= REWIND_GOAL_MS,
  },
  {
    name: 'The first call after it, for which a world is run there again',
    measured: `${Math.round(actMs)} ms`,
    goal: '≤ 300 ms',
    met: actMs <= REWIND_GOAL_MS,
  },
]);
