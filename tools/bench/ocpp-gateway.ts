// Charging chargers behind one gateway: processor time and memory of each, and the effects of a restart on them.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { ConnectorId } from '../../machines/values/ids.js';
import { OcppCharger } from '../../sim/charger/ocpp-charger.js';
import { HUNGRY } from '../../sim/charger/traffic.js';
import { systemClock } from '../../src/clock.js';
import { databaseUrlOf } from '../../src/config.js';
import { machine, remark, report } from './bench.js';
import { residentBytes } from './process-figures.js';
import { controllerUuidOf, createSite, locationIdOf, MQTT_SECRET, provision, TENANT } from './site.js';

const { values } = parseArgs({
  options: { chargers: { type: 'string' }, seconds: { type: 'string' }, heartbeat: { type: 'string' } },
});
const CHARGERS = Number(values.chargers ?? 1_000);
const MEASURED_S = Number(values.seconds ?? 60);
const EACH = 20;
/** Connected first; afterwards all code has run. */
const WARM = Math.min(60, CHARGERS - 1);
const HEARTBEAT_S = Number(values.heartbeat ?? 10);
/** The default of service and gateway: 60 s for heartbeats of 10 s. */
const LEASE_S = 6 * HEARTBEAT_S;
/** 11.6 A for each of twenty cars, which want more. */
const SHAPE = {
  chargersEach: EACH,
  permanentLimitKw: 176,
  gridLimitKw: 1_200,
  timing: { heartbeatMs: 1_000 * HEARTBEAT_S, ttlMs: 1_000 * LEASE_S },
};
const CONNECT_APART_MS = 10;
const LONGEST_WAIT_MS = 240_000;
const LOOK_EVERY_MS = 100;
const FLOOR_A = 6;
const GOALS = { ratio: 2, kilobytes: 60, leasedS: 30 };
const BIN = fileURLToPath(new URL('../../../cli/headroom.js', import.meta.url));
const CONNECTOR = {
  connectorId: '1' as ConnectorId,
  phases: 3,
  voltageV: 230,
  maxCurrentA: 32,
  failsafeA: FLOOR_A,
} as const;

function passes(ms: number): Promise<void> {
  return new Promise((resolve) => systemClock.after(ms, resolve));
}

/** Processor time of a process, s. */
function cpuSOf({ pid = 0 }: ChildProcess): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

async function started(args: readonly string[]): Promise<[ChildProcess, Record<string, string>]> {
  const child = spawn(process.execPath, [BIN, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(createInterface(child.stdout), 'line');
  return [child, JSON.parse(String(line)) as Record<string, string>];
}

const site = createSite();
const locations = Math.ceil(CHARGERS / EACH);
await provision(site.config, locations, 1, SHAPE);
const file = join(site.config.dataDir, 'sites.yaml');
writeFileSync(
  file,
  JSON.stringify({
    tenants: [
      {
        tenantUuid: TENANT,
        name: 'Bench',
        locations: Array.from({ length: locations }, (_, i) => ({
          locationId: locationIdOf(i),
          name: 'A site',
          permanentLimitKw: SHAPE.permanentLimitKw,
          heartbeatS: HEARTBEAT_S,
          leaseTtlS: LEASE_S,
          chargers: Array.from({ length: EACH }, (_, j) => ({
            controllerUuid: controllerUuidOf(i * EACH + j),
            connectors: [{ connectorId: '1', phases: 3, maxCurrentA: 32 }],
          })),
        })),
      },
    ],
  }),
);

const [service, { mqttUrl = '' }] = await started([
  'serve',
  ...['--http-port', '0', '--mqtt-port', '0', '--data-dir', site.config.dataDir, '--log-level', 'error'],
  ...['--database-url', databaseUrlOf(site.config)],
]);

let port = '0';
async function startGateway(): Promise<[ChildProcess, Record<string, string>]> {
  return started([
    ...['gateway', 'ocpp', file, '--mqtt-url', mqttUrl, '--port', port, '--metrics-port', '0'],
    ...['--data-dir', site.config.dataDir, '--log-level', 'error'],
  ]);
}

/** The value of a metric with that label. */
async function metric(url: string, name: string, label: string): Promise<number> {
  const text = await (await fetch(url)).text();
  const line = text.split('\n').find((each) => each.startsWith(`${name}{`) && each.includes(label));
  return Number(line?.split(' ').at(-1) ?? 0);
}

async function untilLeased(metricsUrl: string, count = CHARGERS): Promise<number> {
  const fromMs = performance.now();
  for (;;) {
    const leased = await metric(metricsUrl, 'headroom_gateway_connectors', 'heartbeat').catch(() => 0);
    const elapsedMs = performance.now() - fromMs;
    if (leased >= count || elapsedMs > LONGEST_WAIT_MS) return elapsedMs;
    await passes(LOOK_EVERY_MS);
  }
}

const [first, addresses] = await startGateway();
port = new URL(addresses.ocppUrl ?? '').port;
const emptyBytes = residentBytes(first.pid ?? 0);
/** Includes the first chargers: the memory that the running code itself needs belongs to no charger. */
let warmBytes = emptyBytes;
const chargers: OcppCharger[] = [];
for (let i = 0; i < CHARGERS; i++) {
  const charger = new OcppCharger({
    url: addresses.ocppUrl ?? '',
    controllerUuid: controllerUuidOf(i),
    password: MQTT_SECRET,
    connector: CONNECTOR,
    seed: i,
    traffic: HUNGRY,
    clock: systemClock,
  });
  charger.start();
  chargers.push(charger);
  await passes(CONNECT_APART_MS);
  if (chargers.length !== WARM) continue;
  await untilLeased(addresses.metricsUrl ?? '', WARM);
  await passes(2 * HEARTBEAT_S * 1_000);
  warmBytes = residentBytes(first.pid ?? 0);
}
await untilLeased(addresses.metricsUrl ?? '');
await passes(3 * HEARTBEAT_S * 1_000);

const before = { gateway: cpuSOf(first), service: cpuSOf(service) };
const countOf = () => metric(addresses.metricsUrl ?? '', 'headroom_gateway_messages_total', 'accepted');
const messagesBefore = await countOf();
await passes(1_000 * MEASURED_S);
const heartbeats = (await countOf()) - messagesBefore;
const gatewayMs = (1_000 * (cpuSOf(first) - before.gateway)) / heartbeats;
const serviceMs = (1_000 * (cpuSOf(service) - before.service)) / heartbeats;
const bytes = residentBytes(first.pid ?? 0);
const kilobytes = (bytes - warmBytes) / (CHARGERS - WARM) / 1_000;
const kilobytesInAll = (bytes - emptyBytes) / CHARGERS / 1_000;

const stopped = new Set<OcppCharger>();
let isWatched = true;
const watch = (async () => {
  while (isWatched) {
    for (const charger of chargers) if (charger.limitA < FLOOR_A) stopped.add(charger);
    await passes(LOOK_EVERY_MS);
  }
})();
first.kill('SIGKILL');
await once(first, 'exit');
const killedMs = performance.now();
const [second, again] = await startGateway();
await untilLeased(again.metricsUrl ?? '');
const leasedS = (performance.now() - killedMs) / 1_000;
await passes(20_000);
isWatched = false;
await watch;

await Promise.all(chargers.map((charger) => charger.stop()));
second.kill('SIGTERM');
service.kill('SIGTERM');
await Promise.all([once(second, 'exit'), once(service, 'exit')]);
site.remove();

remark(
  `${machine()}; ${CHARGERS} chargers that charge on ${locations} sites, a heartbeat every ${HEARTBEAT_S} s`,
);
remark(
  `memory: ${kilobytes.toFixed(0)} kB for each charger after the first ${WARM}, ${kilobytesInAll.toFixed(0)} kB with what the code takes once it runs`,
);
remark(
  `processor time for a heartbeat: gateway ${gatewayMs.toFixed(2)} ms, service ${serviceMs.toFixed(2)} ms (${heartbeats} heartbeats)`,
);
report([
  {
    name: 'OCPP gateway: processor time for a heartbeat, beside what it costs the service',
    measured: `${(gatewayMs / serviceMs).toFixed(1)} ×`,
    goal: `≤ ${GOALS.ratio} ×`,
    met: gatewayMs / serviceMs <= GOALS.ratio,
  },
  {
    name: 'OCPP gateway: memory of a charger',
    measured: `${kilobytes.toFixed(0)} kB`,
    goal: `≤ ${GOALS.kilobytes} kB`,
    met: kilobytes <= GOALS.kilobytes,
  },
  {
    name: `OCPP gateway: all ${CHARGERS} leased again after kill -9`,
    measured: `${leasedS.toFixed(0)} s`,
    goal: `≤ ${GOALS.leasedS} s`,
    met: leasedS <= GOALS.leasedS,
  },
  {
    name: 'OCPP gateway: cars below 6 A meanwhile',
    measured: String(stopped.size),
    goal: '0',
    met: stopped.size === 0,
  },
]);
