// One simulated world in a process of its own. It runs slices on request of its parent, and measures speed and parts.
import { readSync, writeSync } from 'node:fs';
import { Session } from 'node:inspector';
import type { RunProgress } from '../../sim/run/run-scenario.js';
import type { Transport } from '../../sim/scenario/scenario.js';
import { systemClock } from '../../src/clock.js';
import { collectGarbage } from './bench.js';
import { type PartShares, partsOfProfile } from './profile-parts.js';

/** Consecutive spans of virtual time to measure, in minutes; each is a whole number of heartbeat periods. */
export interface Slices {
  readonly fromMinute: number;
  readonly minutesEach: number;
  readonly count: number;
}

/** The only argument of the process, as JSON. */
export interface SimulationTask {
  /** URL of the folder of the compiled product: this release, or another one. */
  readonly product: string;
  readonly locations: number;
  readonly connectorsEach: number;
  readonly transport: Transport;
  /** In order of time. */
  readonly slices: readonly Slices[];
  readonly workers?: number;
  readonly isProfiled?: boolean;
}

/** Figures of one slice. */
export interface SimulationSlice {
  readonly readings: number;
  readonly wallMs: number;
  /** Of all threads of the process. */
  readonly cpuMs: number;
  readonly violations: number;
  /** In use after a full collection before and after the slice, bytes. */
  readonly heapBytes: readonly [number, number];
  readonly parts?: PartShares;
}

const METER_PERIOD_S = 10;
const MINUTE_MS = 60_000;
/** Calls of the scenario must lie inside its duration. Time after the last slice is not run. */
const LEAST_MINUTES = 60;

function scenarioText({ locations, connectorsEach, transport, slices }: SimulationTask): string {
  const chargers = Math.ceil(connectorsEach / 2);
  const minutes = Math.max(
    LEAST_MINUTES,
    ...slices.map(({ fromMinute, minutesEach, count }) => fromMinute + minutesEach * count),
  );
  return `name: Bench
seed: 1
start: 2026-06-01T06:00:00Z
duration: ${minutes}m
transport: ${transport}
sites: { count: ${locations}, chargers: ${chargers}, connectors: 2, permanentLimitKw: ${4 * connectorsEach}, gridLimitKw: ${8 * connectorsEach} }
sessions: { generate: { perDay: 2, shape: flat, energyKwh: [8, 40], stay: [1h, 8h] } }
vehicles:
  - { name: city, share: 1, maxKw: 7.4, phases: 1 }
  - { name: family, share: 2, maxKw: 11, phases: 3 }
  - { name: van, share: 1, maxKw: 22, phases: 3 }
actions:
  - { at: +10m, call: scheduleLocation, params: { locationId: site-1 }, body: { startTime: +20m, endTime: +40m, limitKw: ${2 * connectorsEach}, priority: 3 } }
`;
}

/** A slice that has begun. */
interface Begun {
  readonly wallMs: number;
  readonly cpu: NodeJS.CpuUsage;
  readonly heapBytes: number;
}

/** The start of a slice, and the length of the slice that ends here, minutes. */
interface Edge {
  begins: boolean;
  ends: number | undefined;
}

class SlicedRun {
  readonly #task: SimulationTask;
  readonly #session = new Session();
  /** By the minute at which a slice begins or ends. */
  readonly #edges: ReadonlyMap<number, Edge>;
  #begun: Begun | undefined;
  #minute = 0;

  constructor(task: SimulationTask) {
    this.#task = task;
    this.#edges = edgesOf(task.slices);
    this.#session.connect();
  }

  /**
   * Stops at the edges of slices until the parent continues.
   * @throws RangeError if there is no progress report at an edge: its slice would never begin or end
   */
  pause({ simulatedMs, violations }: RunProgress): void {
    const before = this.#minute;
    this.#minute = simulatedMs / MINUTE_MS;
    const passed = [...this.#edges.keys()].find((minute) => minute > before && minute < this.#minute);
    if (passed !== undefined)
      throw new RangeError(`no progress was told at minute ${passed}, where a slice begins or ends`);
    const edge = this.#edges.get(this.#minute);
    if (edge?.ends !== undefined) {
      this.#end(edge.ends, violations);
      awaitParent();
    }
    if (edge?.begins !== true) return;
    writeLine({ ready: true });
    awaitParent();
    this.#begin();
  }

  #begin(): void {
    const heapBytes = heapInUse();
    if (this.#task.isProfiled) {
      this.#session.post('Profiler.enable');
      this.#session.post('Profiler.start');
    }
    this.#begun = { heapBytes, wallMs: systemClock.monotonicMs(), cpu: process.cpuUsage() };
  }

  #end(minutes: number, violations: number): void {
    if (this.#begun === undefined) return;
    const wallMs = systemClock.monotonicMs() - this.#begun.wallMs;
    const { user, system } = process.cpuUsage(this.#begun.cpu);
    const { locations, connectorsEach, isProfiled } = this.#task;
    const parts = isProfiled ? this.#profile() : undefined;
    const slice: SimulationSlice = {
      readings: (minutes * 60 * locations * connectorsEach) / METER_PERIOD_S,
      wallMs,
      cpuMs: (user + system) / 1000,
      violations,
      heapBytes: [this.#begun.heapBytes, heapInUse()],
      ...(parts === undefined ? {} : { parts }),
    };
    writeLine({ slice });
  }

  #profile(): PartShares {
    let parts: PartShares = [];
    // The inspector of the own thread answers within the call.
    this.#session.post('Profiler.stop', (_, { profile }) => {
      parts = partsOfProfile(profile);
    });
    return parts;
  }
}

function edgesOf(all: readonly Slices[]): ReadonlyMap<number, Edge> {
  const edges = new Map<number, Edge>();
  const edgeAt = (minute: number): Edge => {
    const edge = edges.get(minute) ?? { begins: false, ends: undefined };
    edges.set(minute, edge);
    return edge;
  };
  for (const { fromMinute, minutesEach, count } of all)
    for (let nth = 0; nth < count; nth++) {
      edgeAt(fromMinute + nth * minutesEach).begins = true;
      edgeAt(fromMinute + (nth + 1) * minutesEach).ends = minutesEach;
    }
  return edges;
}

function heapInUse(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

/** Blocks the thread; the other threads of the process have no work meanwhile. */
function awaitParent(): void {
  readSync(0, Buffer.alloc(1));
}

function writeLine(line: object): void {
  writeSync(1, `${JSON.stringify(line)}\n`);
}

const task: SimulationTask = JSON.parse(process.argv[2] ?? '{}');
// Both interfaces exist since release 0.1, so that any release since then can be measured.
const { parseScenario } = await import(`${task.product}/sim/scenario/parse-scenario.js`);
const { runScenario } = await import(`${task.product}/sim/run/run-scenario.js`);
const run = new SlicedRun(task);
await runScenario(parseScenario(scenarioText(task), 'bench.yaml'), {
  onProgress: (progress: RunProgress) => run.pause(progress),
  ...(task.workers === undefined ? {} : { workers: task.workers }),
});
