// One simulated stretch of a day in a process of its own: how fast, with how much memory, and where its time went.
import { Session } from 'node:inspector/promises';
import { runScenario } from '../sim/run/run-scenario.js';
import { parseScenario } from '../sim/scenario/parse-scenario.js';
import type { Transport } from '../sim/scenario/scenario.js';
import { systemClock } from '../src/clock.js';
import { collectGarbage } from './bench.js';
import { type PartShares, partsOfProfile } from './profile-parts.js';

/** What the parent asks for, as the only argument, in JSON. */
export interface SimulationTask {
  readonly locations: number;
  readonly connectorsEach: number;
  readonly minutes: number;
  readonly transport: Transport;
  readonly isProfiled: boolean;
}

export interface SimulationRun {
  readonly readings: number;
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly messages: number;
  readonly violations: number;
  /** In use after a full collection, once everybody is connected and at the end, bytes. */
  readonly heapBytes: readonly [number, number];
  readonly parts?: PartShares;
}

const METER_PERIOD_S = 10;
/** Until everybody is connected, leased and compiled. */
const WARM_UP_MINUTES = 5;

function scenarioOf({ locations, connectorsEach, minutes, transport }: SimulationTask) {
  const chargers = Math.ceil(connectorsEach / 2);
  return parseScenario(
    `name: Bench
seed: 1
start: 2026-06-01T06:00:00Z
duration: ${minutes + WARM_UP_MINUTES}m
transport: ${transport}
sites: { count: ${locations}, chargers: ${chargers}, connectors: 2, permanentLimitKw: ${4 * connectorsEach}, gridLimitKw: ${8 * connectorsEach} }
sessions: { generate: { perDay: 2, shape: flat, energyKwh: [8, 40], stay: [1h, 8h] } }
vehicles:
  - { name: city, share: 1, maxKw: 7.4, phases: 1 }
  - { name: family, share: 2, maxKw: 11, phases: 3 }
  - { name: van, share: 1, maxKw: 22, phases: 3 }
actions:
  - { at: +10m, call: scheduleLocation, params: { locationId: site-1 }, body: { startTime: +20m, endTime: +40m, limitKw: ${2 * connectorsEach}, priority: 3 } }
`,
    'bench.yaml',
  );
}

async function run(task: SimulationTask): Promise<SimulationRun> {
  const session = new Session();
  session.connect();
  const heap: number[] = [];
  const began = { wallMs: 0, cpu: process.cpuUsage() };
  const settled = () => {
    collectGarbage();
    heap.push(process.memoryUsage().heapUsed);
  };
  let starting: Promise<unknown> | undefined;
  const result = await runScenario(scenarioOf(task), {
    onProgress({ simulatedMs }) {
      if (starting !== undefined || simulatedMs < WARM_UP_MINUTES * 60_000) return;
      settled();
      began.wallMs = systemClock.monotonicMs();
      began.cpu = process.cpuUsage();
      starting = task.isProfiled ? startProfile(session) : Promise.resolve();
    },
  });
  const wallMs = systemClock.monotonicMs() - began.wallMs;
  const { user, system } = process.cpuUsage(began.cpu);
  const parts = task.isProfiled ? await stopProfile(session) : undefined;
  settled();
  const [before = 0, after = 0] = heap;
  return {
    readings: (task.minutes * 60 * task.locations * task.connectorsEach) / METER_PERIOD_S,
    wallMs,
    cpuMs: (user + system) / 1000,
    messages: result.counts.fromChargers + result.counts.toChargers,
    violations: result.summary.violations,
    heapBytes: [before, after],
    ...(parts === undefined ? {} : { parts }),
  };
}

async function startProfile(session: Session): Promise<void> {
  await session.post('Profiler.enable');
  await session.post('Profiler.start');
}

async function stopProfile(session: Session): Promise<PartShares> {
  const { profile } = await session.post('Profiler.stop');
  return partsOfProfile(profile);
}

process.stdout.write(`${JSON.stringify(await run(JSON.parse(process.argv[2] ?? '{}')))}\n`);
