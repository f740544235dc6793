// The worlds of the baseline: every scenario over each transport, and hostile hours of one service, of several nodes and behind OCPP.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import type { EpochMs } from '../../machines/values/time.js';
import type { TraceEvent } from '../../sim/log/trace-event.js';
import { SummaryFold } from '../../sim/report/summary.js';
import { CellRun } from '../../sim/run/cell-run.js';
import { cellsOf } from '../../sim/run/cells.js';
import { parseScenario } from '../../sim/scenario/parse-scenario.js';
import type { Transport } from '../../sim/scenario/scenario.js';
import { sessionsOf } from '../../sim/sessions/sessions-of.js';
import { type HostileSetting, runHostileHours } from '../../sim/world/hostile-hours.js';

/** One world by its name in the baseline, such as `weak-street.yaml 7 mqtt`. */
export interface BaselineWorld {
  readonly name: string;
  /**
   * False for nodes that share the tenants: they look at real sockets and at a database beside each other, and their
   * order differs between runs. Such a world is compared by its figures alone.
   */
  readonly isRepeatable: boolean;
  /** Calls `onEvent` for each event in order, and returns the figures at the end. */
  readonly play: (onEvent: (event: TraceEvent) => void) => Promise<Figures>;
}

type Figures = Readonly<Record<string, number>>;

/** One world of the recorded file. Digests are the first hexadecimal digits of a SHA-256. */
export interface BaselineRecord {
  /** Of each twenty-fourth of the simulated time, joined by spaces. */
  readonly stretches: string;
  /** Number of events of each kind. */
  readonly events: Figures;
  readonly figures: Figures;
}

const SCENARIOS = 'scenarios';
const SEEDS = 5;
const STRETCHES = 24;
const DIGITS = 8;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Each message over the broker or through the gateway costs several times one that is handed over. */
const LONGEST_MS: Readonly<Record<Transport, number>> = {
  inProcess: 24 * HOUR_MS,
  mqtt: 6 * HOUR_MS,
  ocpp: 6 * HOUR_MS,
};

const HOSTILE_MS = HOUR_MS / 2;
const HOSTILE_CHARGERS = 6;
const HOSTILE: Readonly<Record<string, Partial<HostileSetting>>> = {
  native: {},
  ocpp: { speaksOcpp: true },
  nodes: { nodes: 3 },
  'sharded nodes': { nodes: 3, isSharded: true },
};

export function baselineWorlds(): readonly BaselineWorld[] {
  const files = readdirSync(SCENARIOS).filter((name) => name.endsWith('.yaml'));
  const seeds = Array.from({ length: SEEDS }, (_, i) => i + 1);
  const transports: readonly Transport[] = ['inProcess', 'mqtt', 'ocpp'];
  return [
    ...files.flatMap((file) =>
      transports.flatMap((via) => seeds.map((seed) => scenarioWorld(file, seed, via))),
    ),
    ...Object.entries(HOSTILE).flatMap(([kind, setting]) =>
      seeds.map((seed) => hostileWorld(kind, seed, setting)),
    ),
  ];
}

function scenarioWorld(file: string, seed: number, transport: Transport): BaselineWorld {
  return {
    name: `${file} ${seed} ${transport}`,
    isRepeatable: true,
    async play(onEvent) {
      const path = `${SCENARIOS}/${file}`;
      const text = readFileSync(path, 'utf8');
      const whole = parseScenario(text, path, { seed, transport });
      const lastsMs = Math.min(whole.endsAtMs - whole.startsAtMs, LONGEST_MS[transport]);
      const scenario = parseScenario(text, path, { seed, transport, durationMs: lastsMs });
      const summary = new SummaryFold(scenario.startsAtMs);
      for (const cell of cellsOf(scenario, sessionsOf(scenario, seed))) {
        const run = await CellRun.open(cell, { isJudged: false });
        try {
          let news = run.news();
          for (let atMs = scenario.startsAtMs; ; ) {
            for (const event of news.events) {
              summary.add(event);
              onEvent(event);
            }
            if (atMs >= scenario.endsAtMs) break;
            atMs = Math.min(atMs + 5 * MINUTE_MS, scenario.endsAtMs);
            news = await run.advance(atMs);
          }
        } finally {
          await run.close();
        }
      }
      const { locations, violations } = summary.finish(scenario.endsAtMs);
      const total = (of: (location: (typeof locations)[number]) => number | undefined) =>
        Math.round(locations.reduce((sum, location) => sum + (of(location) ?? 0), 0));
      return {
        requestedWh: total((each) => each.requestedWh),
        deliveredWh: total((each) => each.deliveredWh),
        energyWh: total((each) => each.energyWh),
        sessions: total((each) => each.sessions),
        starts: total((each) => each.sessions * (each.startsPerSession ?? 0)),
        limitChanges: total((each) => each.limitChanges),
        overshootWs: total((each) => 1000 * each.overshootKws),
        violations,
      };
    },
  };
}

function hostileWorld(kind: string, seed: number, setting: Partial<HostileSetting>): BaselineWorld {
  return {
    name: `hostile ${seed} ${kind}`,
    isRepeatable: setting.isSharded !== true,
    async play(onEvent) {
      const { violations, struck, counts } = await runHostileHours({
        seed,
        chargers: HOSTILE_CHARGERS,
        durationMs: HOSTILE_MS,
        ...setting,
        onEvent,
      });
      const faults = [...struck.values()].reduce((sum, count) => sum + count, 0);
      const repeated = setting.isSharded === true ? {} : counts;
      return { violations: violations.length, faults, ...repeated };
    },
  };
}

/** Plays the world. `onLine` receives each event as one line of JSON, without the sentences in it. */
export async function recordWorld(
  world: BaselineWorld,
  onLine: (line: string) => void = () => {},
): Promise<BaselineRecord> {
  const lines: { readonly atMs: EpochMs; readonly line: string }[] = [];
  const events: Record<string, number> = {};
  const figures = await world.play((event) => {
    // Readings of the limits follow from the other events.
    if (event.kind === 'limits' || event.kind === 'limitSource') return;
    events[event.kind] = (events[event.kind] ?? 0) + 1;
    lines.push({ atMs: event.atMs, line: JSON.stringify(withoutSentences(event)) });
  });
  if (!world.isRepeatable) return { stretches: '', events: {}, figures };
  let [firstMs, lastMs] = [Number.POSITIVE_INFINITY, 0];
  for (const { atMs } of lines) [firstMs, lastMs] = [Math.min(firstMs, atMs), Math.max(lastMs, atMs)];
  const stretchMs = Math.max(1, Math.ceil((lastMs + 1 - firstMs) / STRETCHES));
  const hashes = Array.from({ length: STRETCHES }, () => createHash('sha256'));
  for (const { atMs, line } of lines) {
    hashes[Math.floor((atMs - firstMs) / stretchMs)]?.update(`${line}\n`);
    onLine(line);
  }
  const stretches = hashes.map((hash) => hash.digest('hex').slice(0, DIGITS)).join(' ');
  return { stretches, events: Object.fromEntries(Object.entries(events).sort()), figures };
}

function withoutSentences(event: TraceEvent): object {
  if (event.kind !== 'violation') return event;
  const { detail: _, ...rest } = event;
  return rest;
}
