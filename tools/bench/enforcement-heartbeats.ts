// Ten thousand connectors under limits that bind: from heartbeat to grant through the real broker, lag, and memory.
import { readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { systemClock } from '../../src/clock.js';
import { createMetrics } from '../../src/metrics.js';
import { Service } from '../../src/service.js';
import { collectGarbage, machine, percent, remark, report } from './bench.js';
import { type FleetPlan, startFleetClients } from './enforcement-chargers.js';
import { residentBytes } from './process-figures.js';
import { createSite, provision, type Site, writeProfiles } from './site.js';

const PLAN: FleetPlan = { locations: 200, chargersEach: 50 };
const CONNECTORS = PLAN.locations * PLAN.chargersEach;
/** 80 % have a car that wants 20 A on three phases on average: 550 kW. The fail-safes together are 228 kW. */
const SHAPE = { chargersEach: PLAN.chargersEach, permanentLimitKw: 320, gridLimitKw: 1_200 };
const WINDOWED_KW = 240;
const WINDOWS = 6;
const WARM_UP_S = 90;
const PAUSE_MS = 5_000;
const DEFAULT_MINUTES = 2;
const SAMPLE_MS = 10_000;
const LAG_RESOLUTION_MS = 10;
const GOALS = { grantMs: 250, lagMs: 50, growth: 0.02, cpuUs: 150, connectorsEachCore: 25_000 };
/** A core that is busy for this share of the time still answers in time. */
const BUSY_SHARE = 0.7;

const { values } = parseArgs({ options: { minutes: { type: 'string' } } });
const minutes = Number(values.minutes ?? DEFAULT_MINUTES);

interface Memory {
  /** In use after a full garbage collection. */
  readonly heapBytes: number;
  readonly residentBytes: number;
}

function memory(): Memory {
  collectGarbage();
  return { heapBytes: process.memoryUsage().heapUsed, residentBytes: residentBytes(process.pid) };
}

/** Time in which this thread was ready but had no core, ms: the effect of other work on the machine on every figure. */
function withoutCoreMs(): number {
  const [, waitedNs] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ');
  return Number(waitedNs) / 1e6;
}

function passes(ms: number): Promise<void> {
  return new Promise((resolve) => systemClock.after(ms, resolve));
}

/** Each location's limit falls for half of every cycle, at instants of its own. */
async function writeWindows(site: Site): Promise<void> {
  const cycleMs = (minutes * 60_000) / WINDOWS + 20_000;
  const firstMs = systemClock.nowMs() + 30_000;
  await writeProfiles(site.config, PLAN.locations, WINDOWS, (priority, location) => {
    const startsAtMs = Math.round(firstMs + (priority + location / PLAN.locations) * cycleMs);
    return { startsAtMs, endsAtMs: Math.round(startsAtMs + cycleMs / 2), limitKw: WINDOWED_KW };
  });
}

const site = createSite();
await provision(site.config, PLAN.locations, 1, SHAPE);
await writeWindows(site);
const metrics = createMetrics();
const service = new Service(site.config, { metrics });
const { mqttUrl } = await service.start();
const chargers = await startFleetClients(mqttUrl, PLAN);
await passes(WARM_UP_S * 1_000);

const before = memory();
// Heartbeats that waited for the collection are answered first.
await passes(PAUSE_MS);
const lag = monitorEventLoopDelay({ resolution: LAG_RESOLUTION_MS });
const cpuBefore = process.cpuUsage();
const withoutCoreBeforeMs = withoutCoreMs();
chargers.begin();
lag.enable();
const startedMs = systemClock.monotonicMs();
const loads: number[] = [];
const residentMb: number[] = [];
while (systemClock.monotonicMs() - startedMs < minutes * 60_000) {
  await passes(SAMPLE_MS);
  loads.push(loadavg()[0] ?? Number.NaN);
  residentMb.push(Math.round(residentBytes(process.pid) / 1e6));
}
lag.disable();
const fleet = await chargers.report();
const { user, system } = process.cpuUsage(cpuBefore);
const withoutCore = withoutCoreMs() - withoutCoreBeforeMs;
const elapsedS = (systemClock.monotonicMs() - startedMs) / 1_000;
const after = memory();
const { values: failures } = await metrics.ledgerViolations.get();
const failed = failures.reduce((sum, { value }) => sum + value, 0);
chargers.stop();
await service.stop();
site.remove();

const lagP99Ms = lag.percentile(99) / 1e6;
const growth = after.heapBytes / before.heapBytes - 1;
const perMinute = (count: number) => ((count / CONNECTORS) * 60) / elapsedS;
remark(
  `${machine()}; ${CONNECTORS} connectors at ${PLAN.locations} locations, ${minutes} min after ${WARM_UP_S} s of warm-up, ` +
    `SQLite; load average ${Math.min(...loads).toFixed(1)} to ${Math.max(...loads).toFixed(1)}`,
);
remark(
  `a minute and connector: ${perMinute(fleet.heartbeats).toFixed(1)} meter values, ${perMinute(fleet.limits).toFixed(1)} ` +
    `limits, ${perMinute(fleet.changes).toFixed(1)} of them with another limit; ${fleet.broken} broken, ${failed} decisions failed`,
);
remark(
  `heartbeat to grant, ${fleet.answers} of them: p50 ${fleet.p50Ms.toFixed(1)} ms, p99 ${fleet.p99Ms.toFixed(1)} ms, ` +
    `worst ${fleet.maxMs.toFixed(0)} ms; lag of the chargers' own event loop p99 ${fleet.ownLagP99Ms.toFixed(1)} ms`,
);
remark(
  `event-loop lag p50 ${(lag.percentile(50) / 1e6).toFixed(1)} ms, p99 ${lagP99Ms.toFixed(1)} ms, worst ` +
    `${(lag.max / 1e6).toFixed(0)} ms; one core busy ${percent((user + system) / 1e6 / elapsedS)}, ` +
    `waiting for one ${percent(withoutCore / 1e3 / elapsedS)}`,
);
remark(
  `heap in use ${mb(before.heapBytes)} → ${mb(after.heapBytes)}; resident ${mb(before.residentBytes)} → ` +
    `${mb(after.residentBytes)}, meanwhile ${residentMb.join(' ')} MB`,
);
const isSound = fleet.broken === 0 && failed === 0;
const cpuUs = (user + system) / fleet.heartbeats;
const connectorsEachCore = (CONNECTORS * BUSY_SHARE) / ((user + system) / 1e6 / elapsedS);
report([
  {
    name: `Processor time for each of ${fleet.heartbeats} heartbeats, limits, acknowledgements and rows included`,
    measured: `${cpuUs.toFixed(0)} µs`,
    goal: `≤ ${GOALS.cpuUs} µs`,
    met: isSound && cpuUs <= GOALS.cpuUs,
  },
  {
    name: `… connectors that keep one core busy for ${percent(BUSY_SHARE)}`,
    measured: connectorsEachCore.toFixed(0),
    goal: `≥ ${GOALS.connectorsEachCore}`,
    met: isSound && connectorsEachCore >= GOALS.connectorsEachCore,
  },
  {
    name: `Heartbeat to grant with ${CONNECTORS} connectors at ${PLAN.locations} locations, p99`,
    measured: `${fleet.p99Ms.toFixed(0)} ms`,
    goal: `< ${GOALS.grantMs} ms`,
    met: isSound && fleet.p99Ms < GOALS.grantMs,
  },
  {
    name: '… event-loop lag, p99',
    measured: `${lagP99Ms.toFixed(0)} ms`,
    goal: `< ${GOALS.lagMs} ms`,
    met: lagP99Ms < GOALS.lagMs,
  },
  {
    name: `… heap in use after ${minutes} minutes`,
    measured: `${growth >= 0 ? '+' : ''}${(growth * 100).toFixed(1)} %`,
    goal: 'no growth',
    met: growth <= GOALS.growth,
  },
]);

function mb(bytes: number): string {
  return `${(bytes / 1e6).toFixed(0)} MB`;
}
