// Records of energy, sessions and power on disk: their size, a page of 100,000 sessions, a day of all connectors, and a
// day of one by the minute.
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { MinuteRun } from '../../machines/power/connector-minutes.js';
import { QUARTER_MS } from '../../machines/power/energy-count.js';
import type { ConnectorId } from '../../machines/values/ids.js';
import { systemClock } from '../../src/clock.js';
import { databaseUrlOf } from '../../src/config.js';
import { createMetrics } from '../../src/metrics.js';
import { createStore } from '../../src/outbound/knex/store.js';
import type { Change } from '../../src/ports/store.js';
import { Service } from '../../src/service.js';
import { machine, median, remark, report } from './bench.js';
import { API_KEY, controllerUuidOf, createSite, locationIdOf, provision, silentLog, TENANT } from './site.js';

const CHARGERS_EACH = 25;
const CONNECTORS_EACH = 2;
const SESSIONS = 100_000;
/** A car charges for six hours of a day. */
const QUARTERS = 24;
const DAY_MS = 86_400_000;
const AT_ONCE = 2_000;
const ROUNDS = 9;
/** The part of 10,000 connectors and 90 days whose power by the minute is written. */
const POWER_CONNECTORS = 1_000;
const POWER_DAYS = 3;

const { values } = parseArgs({
  options: { connectors: { type: 'string', default: '10000' }, days: { type: 'string', default: '30' } },
});
const connectors = Number(values.connectors);
const days = Number(values.days);
const locations = Math.ceil(connectors / (CHARGERS_EACH * CONNECTORS_EACH));

const site = createSite({ HEADROOM_LOG_LEVEL: 'error' });
const databaseUrl = databaseUrlOf(site.config);
await provision(site.config, locations, CONNECTORS_EACH, {
  chargersEach: CHARGERS_EACH,
  permanentLimitKw: 2_000,
  gridLimitKw: 2_000,
});
const todayMs = Math.floor(systemClock.nowMs() / DAY_MS) * DAY_MS;

const dateOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);

/** The connector with this number, from 0 on. */
function connectorAt(nth: number) {
  const charger = Math.floor(nth / CONNECTORS_EACH);
  return {
    locationId: locationIdOf(Math.floor(charger / CHARGERS_EACH)),
    controllerUuid: controllerUuidOf(charger),
    connectorId: String((nth % CONNECTORS_EACH) + 1) as ConnectorId,
  };
}

function energyOf(nth: number, dayMs: number): Change {
  const quarters = Array.from({ length: QUARTERS }, (_, place) => ({
    startsAtMs: dayMs + (place + 32) * QUARTER_MS,
    wh: 2_700 + ((nth + place) % 100),
    integratedWh: 0,
  }));
  return {
    kind: 'energy.put',
    energy: { ...connectorAt(nth), day: dateOf(dayMs), startsAtMs: dayMs, quarters },
  };
}

function sessionOf(nth: number): Change {
  const leftAtMs = todayMs - nth * 10_000;
  const needs = { declared: {}, need: {}, deliveredWh: 12_345 + nth, charged: undefined };
  const times = { chargingMs: 3_600_000, limitedMs: { fairShare: 600_000 } };
  const facts = { session: `visit-${nth}`, idTag: `CARD-${nth % 500}`, peakW: 11_000, isIntegrated: false };
  return {
    kind: 'session.put',
    session: {
      ...connectorAt(nth % connectors),
      arrivedAtMs: leftAtMs - 7_200_000,
      leftAtMs,
      ...needs,
      ...facts,
      times,
    },
  };
}

/** Size of the database with its journals. */
function bytesOnDisk(): number {
  const { dataDir } = site.config;
  return readdirSync(dataDir)
    .filter((name) => name.includes('.sqlite'))
    .reduce((sum, name) => sum + statSync(join(dataDir, name)).size, 0);
}

async function write(changes: Iterable<Change>): Promise<number> {
  const store = await createStore({
    databaseUrl,
    clock: systemClock,
    log: silentLog,
    metrics: createMetrics(),
  });
  const beforeBytes = bytesOnDisk();
  let batch: Change[] = [];
  for (const change of changes) {
    batch.push(change);
    if (batch.length < AT_ONCE) continue;
    await store.append(TENANT, batch);
    batch = [];
  }
  if (batch.length > 0) await store.append(TENANT, batch);
  await store.close();
  return bytesOnDisk() - beforeBytes;
}

function* energies(): Iterable<Change> {
  for (let day = days; day > 0; day--)
    for (let nth = 0; nth < connectors; nth++) yield energyOf(nth, todayMs - day * DAY_MS);
}

function* sessions(): Iterable<Change> {
  for (let nth = 0; nth < SESSIONS; nth++) yield sessionOf(nth);
}

/** Power was sent and drawn as a car does it: with a change of some ten watts in each minute of charging. */
function* powers(): Iterable<Change> {
  for (let day = POWER_DAYS; day > 0; day--)
    for (let quarter = 0; quarter < 96; quarter++)
      for (let nth = 0; nth < POWER_CONNECTORS; nth++) {
        const atMs = todayMs - day * DAY_MS + quarter * QUARTER_MS;
        const { locationId: _, ...connector } = connectorAt(nth);
        yield {
          kind: 'connectorPower.put',
          power: { ...connector, runs: runsOf(nth, atMs, quarter >= 32 && quarter < 32 + QUARTERS) },
        };
      }
}

function runsOf(nth: number, atMs: number, isCharging: boolean): readonly MinuteRun[] {
  if (!isCharging) return [{ atMs, minutes: 15, meanDaW: 0, limitDaW: 0 }];
  return Array.from({ length: 15 }, (_, minute) => ({
    atMs: atMs + minute * 60_000,
    minutes: 1,
    meanDaW: 1_050 + ((nth + minute * 7) % 31),
    // The limit of a shared connection changes now and then.
    limitDaW: 1_104 - 69 * ((nth + minute) % 5 === 0 ? 1 : 0),
  }));
}

const powerBytes = await write(powers());
const energyBytes = await write(energies());
const sessionBytes = await write(sessions());
const service = new Service(site.config);
const { httpUrl } = await service.start();

/** Median time of a read, ms, with the number of rows in the answer. */
async function timeOf(path: string, rowsOf: (body: Record<string, unknown[]>) => number) {
  const times: number[] = [];
  let rows = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const beganAtMs = performance.now();
    const answer = await fetch(`${httpUrl}/v1/${path}`, { headers: { 'x-api-key': API_KEY } });
    const body = (await answer.json()) as Record<string, unknown[]>;
    times.push(performance.now() - beganAtMs);
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${JSON.stringify(body)}`);
    rows = rowsOf(body);
  }
  return { ms: median(times), rows };
}

const span = (fromMs: number, toMs: number) =>
  `from=${new Date(fromMs).toISOString()}&to=${new Date(toMs).toISOString()}`;
const page = await timeOf(
  `sessions?limit=100&${span(todayMs - 300 * DAY_MS, todayMs + 1)}`,
  ({ sessions: rows = [] }) => rows.length,
);
const day = await timeOf(
  `energy?groupBy=location&from=${dateOf(todayMs - DAY_MS)}&to=${dateOf(todayMs)}`,
  ({ energy: rows = [] }) => rows.length,
);
const quarters = await timeOf(
  `energy?groupBy=tenant&resolution=quarterHour&${span(todayMs - DAY_MS, todayMs)}`,
  ({ energy: rows = [] }) => rows.length,
);
const { controllerUuid, connectorId } = connectorAt(0);
const curve = await timeOf(
  `chargers/${controllerUuid}/connectors/${connectorId}/power?${span(todayMs - DAY_MS, todayMs)}`,
  ({ points = [] }) => points.length,
);
await service.stop();
site.remove();

const yearGb = (energyBytes / days) * (365 / 1e9);
remark(
  `${machine()}; SQLite, ${connectors} connectors for ${days} days with ${QUARTERS} quarter-hours of charging each, ${SESSIONS} sessions; medians of ${ROUNDS} reads`,
);
remark(
  `energy ${yearGb.toFixed(2)} GB a year, ${((1e3 * yearGb) / connectors).toFixed(3)} MB a connector; a session ${(sessionBytes / SESSIONS).toFixed(0)} bytes`,
);
const powerGb = (powerBytes / POWER_CONNECTORS / POWER_DAYS) * 10_000 * (90 / 1e9);
remark(
  `power by the minute ${powerGb.toFixed(2)} GB for 10,000 connectors and 90 days, by ${POWER_CONNECTORS} connectors and ${POWER_DAYS} days`,
);
report([
  {
    name: `First page of ${SESSIONS} sessions, ${page.rows} rows`,
    measured: `${page.ms.toFixed(0)} ms`,
    goal: '≤ 1,000 ms',
    met: page.ms <= 1_000 && page.rows === 100,
  },
  {
    name: `A day of ${connectors} connectors by location, ${day.rows} rows`,
    measured: `${day.ms.toFixed(0)} ms`,
    goal: '≤ 100 ms',
    met: day.ms <= 100 && day.rows === locations,
  },
  {
    name: `The same day by quarter-hour of the tenant, ${quarters.rows} rows`,
    measured: `${quarters.ms.toFixed(0)} ms`,
    goal: '≤ 100 ms',
    met: quarters.ms <= 100 && quarters.rows === QUARTERS,
  },
  {
    name: `First page of a connector's day by the minute, ${curve.rows} rows`,
    measured: `${curve.ms.toFixed(0)} ms`,
    goal: '≤ 100 ms',
    met: curve.ms <= 100 && curve.rows === 1_000,
  },
]);
