// Speed of simulated days: quiet and busy, against another release, with ten times as many connectors, through the
// broker.
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { openTrace } from '../../sim/log/trace.js';
import { rehearse } from '../../sim/run/rehearse.js';
import { parseScenario } from '../../sim/scenario/parse-scenario.js';
import { systemClock } from '../../src/clock.js';
import { type Figure, machine, median, percent, remark, report } from './bench.js';
import { productIn, SimulationChild } from './simulation-child.js';
import type { SimulationSlice, SimulationTask, Slices } from './simulation-run.js';

const execute = promisify(execFile);
const REWIND_GOAL_MS = 300;
const FIRST_CALL_GOAL_MS = 500;
const DAY_GOAL = { wallS: 2, processorS: 3 };
const ORDINARY_DAY = fileURLToPath(new URL('../../../scenarios/ordinary-depot-day.yaml', import.meta.url));
const OUTPUT_BYTES = 1 << 26;
const MEBIBYTE = 2 ** 20;

/** Connector-periods a second of ACN-Sim, measured for the design of this simulator. */
const PEER = 'ACN-Sim: 4,700 (round robin) to 38,000 (uncontrolled) connector-periods/s at 1,000 stations';

const { values } = parseArgs({
  options: { against: { type: 'string' }, slices: { type: 'string', default: '3' } },
});
const count = Number(values.slices);
/**
 * All chargers are connected, and few have a car. In a shorter slice the threads would still be compiling their code.
 */
const QUIET: Slices = { fromMinute: 5, minutesEach: 15, count };
/** Most connectors have a car that charges. */
const BUSY: Slices = { fromMinute: 360, minutesEach: 15, count };
/** Long enough if each reading is expensive, or there are many readings. */
const SHORT: Slices = { ...QUIET, minutesEach: 5, count: 1 };
/**
 * The first and the last minutes of a whole day for the memory figure; before the first, code is still being compiled.
 */
const WARM: Slices = { fromMinute: 60, minutesEach: 5, count: 1 };
const LAST: Slices = { fromMinute: 24 * 60 - 5, minutesEach: 5, count: 1 };
const SITES = { locations: 20, connectorsEach: 50, transport: 'inProcess', slices: [QUIET, BUSY] } as const;
/** Readings a second, two threads. */
const GOALS = { quiet: 200_000, busy: 150_000 };
/** Equal numbers of readings let both sizes run compiled code. */
const SAME_READINGS = 10;

interface Contestant {
  readonly name: string;
  readonly task: Omit<SimulationTask, 'product'> & { readonly product?: string };
}

type Measured = readonly (readonly SimulationSlice[])[];

/**
 * Measures slices in alternation, each contestant in a process of its own: other work on the machine then affects all
 * equally.
 */
async function inTurns(contestants: readonly Contestant[]): Promise<Measured> {
  const children = contestants.map(({ task }) => new SimulationChild(task));
  const measured: SimulationSlice[][] = contestants.map(() => []);
  const slices = contestants[0]?.task.slices.reduce((sum, each) => sum + each.count, 0) ?? 0;
  try {
    for (let nth = 0; nth < slices; nth++) {
      // A child that is still on the way to its slice would take cores from the measured one.
      await Promise.all(children.map((child) => child.arrive()));
      for (const [i, child] of children.entries()) measured[i]?.push(await child.slice());
    }
    return measured;
  } finally {
    await Promise.all(children.map((child) => child.end()));
  }
}

const perS = ({ readings, wallMs }: SimulationSlice) => (1000 * readings) / wallMs;
const cpuUs = ({ readings, cpuMs }: SimulationSlice) => (1000 * cpuMs) / readings;
const thousands = (value: number) => Math.round(value).toLocaleString('en');
const mebibytes = (bytes: number) => `${(bytes / MEBIBYTE).toFixed(0)} MiB`;
const speedOf = (slices: readonly SimulationSlice[]) => median(slices.map(perS));
const costOf = (slices: readonly SimulationSlice[]) => median(slices.map(cpuUs));
const violationsOf = (slices: readonly SimulationSlice[]) => slices.at(-1)?.violations ?? 0;

const workers = availableParallelism();
const reference: Contestant[] =
  values.against === undefined
    ? []
    : [{ name: values.against, task: { ...SITES, product: productIn(values.against) } }];
const contestants: readonly Contestant[] = [
  { name: `this release, ${workers} threads`, task: { ...SITES, workers } },
  { name: 'this release, 1 thread', task: { ...SITES, workers: 1 } },
  ...reference,
];
remark(
  `${machine()}; 1,000 connectors in 20 locations, invariants on; ${count} × ${QUIET.minutesEach} min each in turns, ` +
    `quiet from minute ${QUIET.fromMinute}, busy from minute ${BUSY.fromMinute}; medians`,
);
const measured = await inTurns(contestants);
const cases = contestants.map(({ name }, i) => {
  const slices = measured[i] ?? [];
  return { name, quiet: slices.slice(0, count), busy: slices.slice(count) };
});
for (const { name, quiet, busy } of cases)
  remark(
    `${name}: quiet ${thousands(speedOf(quiet))}/s, ${costOf(quiet).toFixed(1)} µs of processor each; busy ` +
      `${thousands(speedOf(busy))}/s, ${costOf(busy).toFixed(1)} µs; ${violationsOf(busy)} violations`,
  );
remark(PEER);
const [threads, alone, before] = cases;
if (threads === undefined || alone === undefined) throw new Error('nothing was measured');

const few: Slices = { ...SHORT, count: 2 };
const many: Slices = { ...SHORT, count: few.count * SAME_READINGS };
const [large = []] = await inTurns([
  { name: '10,000', task: { ...SITES, locations: 200, slices: [few], workers: 1 } },
]);
const [small = []] = await inTurns([{ name: '1,000', task: { ...SITES, slices: [many], workers: 1 } }]);
const growth = costOf(large) / costOf(small.slice(-few.count * 2));
const [broker = []] = await inTurns([
  { name: 'broker', task: { ...SITES, transport: 'mqtt', slices: [SHORT] } },
]);
remark(
  `through the real broker: ${thousands(speedOf(broker))} readings/s, ${costOf(broker).toFixed(0)} µs of processor each`,
);
const profiled = { ...SITES, workers: 1, isProfiled: true, slices: [{ ...QUIET, count: 1 }] };
const [profile = []] = await inTurns([{ name: 'profile', task: profiled }]);
remark('where time goes in process:');
for (const { part, share } of profile[0]?.parts ?? []) remark(`  ${percent(share).padStart(5)}  ${part}`);

async function measureReplay(): Promise<number> {
  const dir = mkdtempSync(join(tmpdir(), 'headroom-bench-'));
  try {
    const command = fileURLToPath(new URL('../../../cli/headroom.js', import.meta.url));
    await execute(process.execPath, [command, 'sim', 'run', ORDINARY_DAY, '--out', dir], {
      maxBuffer: OUTPUT_BYTES,
    });
    const trace = openTrace(dir);
    const { startsAtMs } = trace.subject;
    const instants = [0.1, 0.5, 0.9].map((share) => startsAtMs + Math.round(share * 86_400_000));
    trace.close();
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

/** The ordinary day of a depot, from the command to its report, s. */
async function measureDay(): Promise<{ readonly wallS: number; readonly processorS: number }> {
  const dir = mkdtempSync(join(tmpdir(), 'headroom-bench-'));
  try {
    const command = fileURLToPath(new URL('../../../cli/headroom.js', import.meta.url));
    const words = [process.execPath, command, 'sim', 'run', ORDINARY_DAY, '--out', dir];
    const script = `TIMEFORMAT='%R %U %S'; time ${words.map((word) => `'${word}'`).join(' ')} >/dev/null 2>&1`;
    const { stderr } = await execute('bash', ['-c', script], { maxBuffer: OUTPUT_BYTES });
    const [wallS = 0, userS = 0, systemS = 0] = (stderr.trim().split('\n').at(-1) ?? '')
      .split(' ')
      .map(Number);
    return { wallS, processorS: userS + systemS };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
const days = [];
for (let run = 0; run < count; run++) days.push(await measureDay());
const dayWallS = median(days.map(({ wallS }) => wallS));
const dayProcessorS = median(days.map(({ processorS }) => processorS));

/** With this number a world has at most two hours of the day to run again. */
const SPARES = 12;

/**
 * Goes back by six hours from the end of the ordinary day of twelve connectors, and makes a call there. The time before
 * it is run again, from the beginning or from the nearest prewarmed world.
 */
async function measureRewind(spares: number): Promise<{ readonly rewindMs: number; readonly actMs: number }> {
  const scenario = parseScenario(readFileSync(ORDINARY_DAY, 'utf8'), ORDINARY_DAY);
  const rehearsal = await rehearse(scenario, { spares });
  const { endsAtMs } = scenario;
  await rehearsal.travelTo(endsAtMs);
  await rehearsal.ready();
  const beganAtMs = systemClock.monotonicMs();
  await rehearsal.rewindTo(endsAtMs - 6 * 3_600_000 - 1);
  const wentBackAtMs = systemClock.monotonicMs();
  await rehearsal.call('PUT', '/locations/site-1/limit', { limitKw: 40 });
  const actedAtMs = systemClock.monotonicMs();
  await rehearsal.close();
  return { rewindMs: wentBackAtMs - beganAtMs, actMs: actedAtMs - wentBackAtMs };
}
const { rewindMs, actMs } = await measureRewind(0);
const beside = await measureRewind(SPARES);

const [day = []] = await inTurns([{ name: 'a day', task: { ...SITES, workers: 1, slices: [WARM, LAST] } }]);
const heapBefore = day[0]?.heapBytes[0] ?? 0;
const heapAfter = day.at(-1)?.heapBytes[1] ?? 0;

/** Compares with another release if one is given: elapsed time with threads, processor time on one thread. */
function speedFigure(which: 'quiet' | 'busy'): Figure {
  const own = threads?.[which] ?? [];
  const speed = `${thousands(speedOf(own))}/s`;
  const name = `Simulated connector-readings a second, 1,000 connectors, ${which}`;
  if (before !== undefined) {
    const ratio = speedOf(own) / speedOf(before[which]);
    const byProcessor = costOf(before[which]) / costOf(alone?.[which] ?? []);
    remark(
      `${which}, against ${before.name}: ${ratio.toFixed(1)} × by the clock, ${byProcessor.toFixed(1)} × by processor time on one thread`,
    );
  }
  const isMet = speedOf(own) >= GOALS[which] && violationsOf(own) === 0;
  return { name, measured: speed, goal: `≥ ${thousands(GOALS[which])}/s`, met: isMet };
}

report([
  speedFigure('quiet'),
  speedFigure('busy'),
  {
    name: 'Cost of a simulated reading with 10,000 connectors, against 1,000',
    measured: `${growth.toFixed(2)} ×`,
    goal: '≤ 1.2 ×',
    met: growth <= 1.2,
  },
  {
    name: 'Heap in use, a whole day of 1,000 connectors, after its first hour and at its end',
    measured: `${mebibytes(heapBefore)} → ${mebibytes(heapAfter)}`,
    goal: 'no growth (5 %)',
    met: heapAfter > 0 && heapAfter <= 1.05 * heapBefore,
  },
  {
    name: "An ordinary depot's day of 12 connectors, from the command to its report",
    measured: `${dayWallS.toFixed(1)} s, ${dayProcessorS.toFixed(1)} s of processor`,
    goal: `≤ ${DAY_GOAL.wallS} s, ${DAY_GOAL.processorS} s`,
    met: dayWallS <= DAY_GOAL.wallS && dayProcessorS <= DAY_GOAL.processorS,
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
    name: 'Both, going back and the first call there, for which a world is run there again',
    measured: `${Math.round(rewindMs + actMs)} ms`,
    goal: `≤ ${FIRST_CALL_GOAL_MS} ms`,
    met: rewindMs + actMs <= FIRST_CALL_GOAL_MS,
  },
  {
    name: `… with ${SPARES} spare worlds, of which the nearest is two hours back`,
    measured: `${Math.round(beside.rewindMs + beside.actMs)} ms`,
    goal: '≤ 300 ms',
    met: beside.rewindMs + beside.actMs <= REWIND_GOAL_MS,
  },
]);
