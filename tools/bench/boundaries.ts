// Thousands of windows that begin, and then end, at one instant: the delay of the last effective limit, and of the last
// command at its charger.
import { systemClock } from '../../src/clock.js';
import type { Log } from '../../src/ports/log.js';
import { Service } from '../../src/service.js';
import { type Figure, machine, remark, report } from './bench.js';
import { startFleetClients } from './enforcement-chargers.js';
import { createSite, provision, silentLog, writeProfiles } from './site.js';

const SIZES = [2_500, 5_000, 10_000];
const LEAD_MS = 15_000;
const LENGTH_MS = 5_000;

interface Switches {
  count: number;
  earliestMs: number;
  latestMs: number;
}

/** Follows the limits at the debug log, which reports every effect at once. */
function watch(atMs: number): {
  readonly log: Log;
  readonly begun: Switches;
  readonly ended: Switches;
  done: () => boolean;
} {
  const begun = { count: 0, earliestMs: Number.POSITIVE_INFINITY, latestMs: 0 };
  const ended = { count: 0, earliestMs: Number.POSITIVE_INFINITY, latestMs: 0 };
  const log: Log = {
    ...silentLog,
    debug(fields) {
      if (!('type' in fields) || fields.type !== 'effectiveLimit.changed') return;
      const now = systemClock.nowMs();
      const switches = now < atMs + LENGTH_MS ? begun : ended;
      switches.count++;
      switches.earliestMs = Math.min(switches.earliestMs, now);
      switches.latestMs = Math.max(switches.latestMs, now);
    },
  };
  return { log, begun, ended, done: () => begun.count === ended.count && begun.count > 0 };
}

async function measure(locations: number) {
  const site = createSite();
  await provision(site.config, locations, 0);
  const atMs = systemClock.nowMs() + LEAD_MS;
  await writeProfiles(site.config, locations, 1, () => ({ startsAtMs: atMs, endsAtMs: atMs + LENGTH_MS }));
  const { log, begun, ended } = watch(atMs);
  const service = new Service(site.config, { log });
  await service.start();
  if (systemClock.nowMs() >= atMs)
    throw new Error('the service was ready only after the instant; raise LEAD_MS');
  await new Promise<void>((resolve) =>
    systemClock.after(atMs + LENGTH_MS + 4_000 - systemClock.nowMs(), resolve),
  );
  await service.stop();
  site.remove();
  const early = begun.earliestMs < atMs || ended.earliestMs < atMs + LENGTH_MS;
  const result = {
    locations,
    all: begun.count === locations && ended.count === locations,
    early,
    beginMs: begun.latestMs - atMs,
    endMs: ended.latestMs - atMs - LENGTH_MS,
  };
  remark(
    `${locations} locations: begin applied after ${result.beginMs} ms, end after ${result.endMs} ms, all ${result.all}, early ${early}`,
  );
  return result;
}

/** Every location has a charger whose car takes all that it gets: 11.5 A before the window, 28.9 A in it. */
const CONNECTED = 10_000;
const LOW_KW = 8;
const HIGH_KW = 20;
const WANTED_A = 32;
/** The chargers connect, and get their first limits. */
const WARM_UP_MS = 150_000;
const SETTLED_MS = 20_000;
const PATIENCE_MS = 20_000;

function until(atMs: number): Promise<void> {
  return new Promise((resolve) => systemClock.after(atMs - systemClock.nowMs(), resolve));
}

/** A window that raises the limit of 10,000 locations at one instant, with a connected charger each. */
async function measureConnected() {
  const site = createSite();
  await provision(site.config, CONNECTED, 1, { chargersEach: 1, permanentLimitKw: LOW_KW, gridLimitKw: 80 });
  const atMs = systemClock.nowMs() + WARM_UP_MS;
  const window = { startsAtMs: atMs, endsAtMs: atMs + 3_600_000, limitKw: HIGH_KW };
  await writeProfiles(site.config, CONNECTED, 1, () => window);
  const service = new Service(site.config, { log: silentLog });
  const { mqttUrl } = await service.start();
  const plan = { locations: CONNECTED, chargersEach: 1, steadyA: WANTED_A };
  const chargers = await startFleetClients(mqttUrl, plan);
  if (systemClock.nowMs() > atMs - SETTLED_MS)
    throw new Error('the chargers were connected too late; raise WARM_UP_MS');
  await until(atMs - SETTLED_MS / 2);
  chargers.begin();
  await until(atMs + PATIENCE_MS);
  const { raises } = await chargers.report();
  chargers.stop();
  await service.stop();
  site.remove();
  return { ...raises, firstMs: raises.firstAtMs - atMs, lastMs: raises.lastAtMs - atMs };
}

remark(machine());
const connected = await measureConnected();
remark(
  `${CONNECTED} connected chargers: ${connected.count} raised, the first after ${connected.firstMs} ms, the last after ` +
    `${connected.lastMs} ms`,
);
const results = [];
for (const size of SIZES) results.push(await measure(size));
const [smallest] = results;
const largest = results.at(-1);
if (smallest === undefined || largest === undefined) throw new Error('nothing was measured');
const isSound = results.every(({ all, early }) => all && !early);
const growth = largest.endMs / largest.locations / (smallest.endMs / smallest.locations);
const figures: Figure[] = [
  {
    name: '10,000 windows beginning at one instant: the last command at its charger, none early',
    measured: `${connected.lastMs} ms`,
    goal: '≤ 1.5 s',
    met: connected.count === CONNECTED && connected.firstMs >= 0 && connected.lastMs <= 1_500,
  },
  {
    name: '… without chargers: the last limit switched, none early',
    measured: `${largest.beginMs} ms`,
    goal: '≤ 0.5 s',
    met: isSound && largest.beginMs <= 500,
  },
  {
    name: '10,000 windows ending at one instant',
    measured: `${largest.endMs} ms`,
    goal: '≤ 0.5 s',
    met: isSound && largest.endMs <= 500,
  },
  {
    name: 'Cost per window ending, at 10,000 against at 2,500',
    measured: `${growth.toFixed(2)} ×`,
    goal: 'linear (≤ 1.3 ×)',
    met: growth <= 1.3,
  },
];
report(figures);
