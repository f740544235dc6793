// Charging chargers behind one gateway, against the same chargers without one: processor time of a heartbeat and its
// renewal; memory of a charger; the effects of a kill on them.
import { readFileSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { ConnectorId } from '../../machines/values/ids.js';
import { OcppCharger } from '../../sim/charger/ocpp-charger.js';
import { HUNGRY } from '../../sim/charger/traffic.js';
import { systemClock } from '../../src/clock.js';
import { databaseUrlOf } from '../../src/config.js';
import { AttackedProcess, type Held } from './attack-process.js';
import { machine, remark, report } from './bench.js';
import { pause } from './chaos-parts.js';
import { startFleetClients } from './enforcement-chargers.js';
import { controllerUuidOf, createSite, locationIdOf, MQTT_SECRET, provision, TENANT } from './site.js';

const { values } = parseArgs({
  options: { chargers: { type: 'string' }, seconds: { type: 'string' }, heartbeat: { type: 'string' } },
});
const EACH = 20;
const CHARGERS = EACH * Math.ceil(Number(values.chargers ?? 1_000) / EACH);
const MEASURED_S = Number(values.seconds ?? 60);
/** Memory is compared at none, at these and at all. */
const HALF = CHARGERS / 2;
const HEARTBEAT_S = Number(values.heartbeat ?? 10);
/** The default of service and gateway: 60 s for heartbeats of 10 s. */
const LEASE_S = 6 * HEARTBEAT_S;
const LOCATIONS = CHARGERS / EACH;
/** 11.6 A for each of twenty cars, which want more. */
const SHAPE = {
  chargersEach: EACH,
  permanentLimitKw: 176,
  gridLimitKw: 1_200,
  timing: { heartbeatMs: 1_000 * HEARTBEAT_S, ttlMs: 1_000 * LEASE_S },
};
const CONNECT_APART_MS = 10;
const RECONNECT_MS = [200, 400] as const;
const LONGEST_WAIT_MS = 240_000;
const LOOK_EVERY_MS = 100;
const FLOOR_A = 6;
const GOALS = { ratio: 1.5, kilobytes: 50, leasedS: 15 };
const CONNECTOR = {
  connectorId: '1' as ConnectorId,
  phases: 3,
  voltageV: 230,
  maxCurrentA: 32,
  failsafeA: FLOOR_A,
} as const;

/** Processor time of a process, s. */
function cpuSOf({ pid }: AttackedProcess): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

const site = createSite();
await provision(site.config, LOCATIONS, 1, SHAPE);
const file = join(site.config.dataDir, 'sites.yaml');
writeFileSync(
  file,
  JSON.stringify({
    tenants: [
      {
        tenantUuid: TENANT,
        name: 'Bench',
        locations: Array.from({ length: LOCATIONS }, (_, i) => ({
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

function processOf(name: string, args: readonly string[]): AttackedProcess {
  const usual = ['--data-dir', site.config.dataDir, '--log-level', 'info'];
  return new AttackedProcess(name, [...args, ...usual], {}, join(site.config.dataDir, `${name}.log`));
}

const service = processOf('service', [
  ...['serve', '--http-port', '0', '--mqtt-port', '0', '--database-url', databaseUrlOf(site.config)],
]);
const { mqttUrl = '' } = (await service.start()).ready;

/** Processor time of the processes for each heartbeat until `count` has passed its time, ms. */
async function costOf(processes: readonly AttackedProcess[], count: () => Promise<number>) {
  const before = processes.map(cpuSOf);
  const countBefore = await count();
  await pause(1_000 * MEASURED_S);
  const heartbeats = (await count()) - countBefore;
  const costsMs = processes.map((each, i) => (1_000 * (cpuSOf(each) - (before[i] ?? 0))) / heartbeats);
  return { heartbeats, costsMs, sumMs: costsMs.reduce((sum, ms) => sum + ms, 0) };
}

// The peer: the same chargers and cars, which speak MQTT to the service.
const heartbeatMs = 1_000 * HEARTBEAT_S;
const natives = await startFleetClients(mqttUrl, {
  locations: LOCATIONS,
  chargersEach: EACH,
  steadyA: 32,
  heartbeatMs,
});
await pause(6 * heartbeatMs);
natives.begin();
const native = await costOf([service], async () => (await natives.report()).heartbeats);
natives.stop();
// Their leases end, so that every charger of the gateway may have its share.
await pause(1_000 * LEASE_S + 20_000);

let port = '0';
async function startGateway(name: string) {
  const gateway = processOf(name, [
    ...['gateway', 'ocpp', file, '--mqtt-url', mqttUrl, '--port', port, '--metrics-port', '0'],
  ]);
  const { ready } = await gateway.start();
  return { gateway, ocppUrl: ready.ocppUrl ?? '', metricsUrl: ready.metricsUrl ?? '' };
}

/** The value of a metric with that label. */
async function metric(url: string, name: string, label: string): Promise<number> {
  const text = await (await fetch(url)).text();
  const line = text.split('\n').find((each) => each.startsWith(`${name}{`) && each.includes(label));
  return Number(line?.split(' ').at(-1) ?? 0);
}

/** @throws Error on a machine that is too busy for so many chargers: other figures would then be of fewer chargers */
async function untilLeased(metricsUrl: string, count: number): Promise<void> {
  const fromMs = performance.now();
  for (;;) {
    const leased = await metric(metricsUrl, 'headroom_gateway_connectors', 'heartbeat').catch(() => 0);
    if (leased >= count) return;
    if (performance.now() - fromMs > LONGEST_WAIT_MS)
      throw new Error(`only ${leased} of ${count} chargers had a lease after ${LONGEST_WAIT_MS / 1_000} s`);
    await pause(LOOK_EVERY_MS);
  }
}

const first = await startGateway('gateway');
port = new URL(first.ocppUrl).port;
const chargers: OcppCharger[] = [];

/** Memory of the gateway with so many chargers, after all of them have had a lease for three heartbeats. */
async function heldWith(count: number): Promise<Held> {
  while (chargers.length < count) {
    const charger = new OcppCharger({
      url: first.ocppUrl,
      controllerUuid: controllerUuidOf(chargers.length),
      password: MQTT_SECRET,
      connector: CONNECTOR,
      seed: chargers.length,
      traffic: HUNGRY,
      clock: systemClock,
      reconnectMs: RECONNECT_MS,
    });
    charger.start();
    chargers.push(charger);
    await pause(CONNECT_APART_MS);
  }
  await untilLeased(first.metricsUrl, count);
  await pause(3 * heartbeatMs);
  return first.gateway.held();
}

const [none, half, all] = [await heldWith(0), await heldWith(HALF), await heldWith(CHARGERS)];
const behind = await costOf([first.gateway, service], () =>
  metric(first.metricsUrl, 'headroom_gateway_messages_total', 'accepted'),
);

const stopped = new Set<OcppCharger>();
let isWatched = true;
const watch = (async () => {
  while (isWatched) {
    for (const charger of chargers) if (charger.limitA < FLOOR_A) stopped.add(charger);
    await pause(LOOK_EVERY_MS);
  }
})();
const killedMs = performance.now();
await first.gateway.kill();
const second = await startGateway('gateway-2');
await untilLeased(second.metricsUrl, CHARGERS);
const leasedS = (performance.now() - killedMs) / 1_000;
await pause(2 * heartbeatMs);
isWatched = false;
await watch;

await Promise.all(chargers.map((charger) => charger.stop()));
await second.gateway.stop();
await service.stop();
site.remove();

const ratio = behind.sumMs / native.sumMs;
const kilobytes = (more: number, fewer: number, count: number) => (more - fewer) / count / 1_000;
const heapKb = kilobytes(all.heapBytes, half.heapBytes, CHARGERS - HALF);
const residentKb = kilobytes(all.residentBytes, half.residentBytes, CHARGERS - HALF);
const ms = (value: number | undefined) => `${(value ?? Number.NaN).toFixed(2)} ms`;
const [gatewayMs, serviceMs] = behind.costsMs;
remark(
  `${machine()}, load ${(loadavg()[0] ?? Number.NaN).toFixed(1)}; ${CHARGERS} chargers that charge on ${LOCATIONS} sites, ` +
    `a heartbeat every ${HEARTBEAT_S} s, each renewed; the chargers run in a process of their own`,
);
remark(
  `processor time for a heartbeat and its renewal: MQTT chargers ${ms(native.sumMs)} (${native.heartbeats}); behind the ` +
    `gateway ${ms(behind.sumMs)} (${behind.heartbeats}): gateway ${ms(gatewayMs)}, service ${ms(serviceMs)}`,
);
remark(
  `memory for each charger after a full collection, heap and resident: 0 to ${HALF} ` +
    `${kilobytes(half.heapBytes, none.heapBytes, HALF).toFixed(0)} and ${kilobytes(half.residentBytes, none.residentBytes, HALF).toFixed(0)} kB; ` +
    `${HALF} to ${CHARGERS} ${heapKb.toFixed(0)} and ${residentKb.toFixed(0)} kB`,
);
report([
  {
    name: 'OCPP gateway: processor time for a heartbeat of gateway and service, against MQTT chargers',
    measured: `${ratio.toFixed(2)} ×`,
    goal: `≤ ${GOALS.ratio} ×`,
    met: ratio <= GOALS.ratio,
  },
  {
    name: `OCPP gateway: memory of a further charger, heap and resident, ${HALF} to ${CHARGERS}`,
    measured: `${heapKb.toFixed(0)} and ${residentKb.toFixed(0)} kB`,
    goal: `≤ ${GOALS.kilobytes} kB`,
    met: Math.max(heapKb, residentKb) <= GOALS.kilobytes,
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
