// Meter values of 1,000 chargers under their locations' limits, against aedes with an empty handler.
import { createServer } from 'node:net';
import { Aedes } from 'aedes';
import type { ConnectorId } from '../../machines/values/ids.js';
import { systemClock } from '../../src/clock.js';
import type { ClusterDetail } from '../../src/features/clusters/contract.js';
import { createMetrics } from '../../src/metrics.js';
import { Service } from '../../src/service.js';
import { buildTopic } from '../../src/wire/topics.js';
import { machine, median, percent, remark, report } from './bench.js';
import { type MeterClient, meterPayload, startMeterClients } from './meter-clients.js';
import {
  API_KEY,
  controllerUuidOf,
  createSite,
  locationIdOf,
  MQTT_SECRET,
  provision,
  TENANT,
} from './site.js';

const CHARGERS = 1_000;
/** Every car would take more than its share of the limit, 10.8 A. */
const SHAPE = { chargersEach: 20, permanentLimitKw: 150, gridLimitKw: 200 };
const LOCATIONS = CHARGERS / SHAPE.chargersEach;
const LIMIT_KW = LOCATIONS * SHAPE.permanentLimitKw;
const ROUNDS = 5;
const WARM_UP_MS = 1_000;
const ASK_AGAIN_MS = 1_000;
const MOST_ASKED = 60;
const MEASURED_MS = 3_000;

interface Contestant {
  readonly name: string;
  readonly clients: Awaited<ReturnType<typeof startMeterClients>>;
  /** Number of messages taken so far. */
  taken(): Promise<number>;
  stop(): Promise<void>;
  readonly perS: number[];
  readonly cpuMicrosEach: number[];
}

const CLIENTS: readonly MeterClient[] = Array.from({ length: CHARGERS }, (_, i) => {
  const controllerUuid = controllerUuidOf(i);
  const locationId = locationIdOf(Math.floor(i / SHAPE.chargersEach));
  const connector = { tenantUuid: TENANT, locationId, controllerUuid, connectorId: '1' as ConnectorId };
  return {
    clientId: controllerUuid,
    username: `${TENANT}/${controllerUuid}`,
    password: MQTT_SECRET,
    meterTopic: buildTopic({ ...connector, kind: 'meter' }),
    limitTopic: buildTopic({ ...connector, kind: 'limit' }),
  };
});

/** All limits of the embedded broker stay in force except the rates, because the reference has none. */
const RAISED = { HEADROOM_MQTT_MESSAGES_PER_S: '1000000', HEADROOM_MQTT_MESSAGE_BURST: '1000000' };

async function bareAedes(): Promise<Contestant> {
  const broker = await Aedes.createBroker();
  let count = 0;
  broker.on('publish', () => {
    count++;
  });
  const server = createServer({ noDelay: true }, broker.handle);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = address !== null && typeof address === 'object' ? address.port : 0;
  const clients = await startMeterClients(`mqtt://127.0.0.1:${port}`, CLIENTS);
  return {
    name: 'aedes, empty handler',
    clients,
    taken: async () => count,
    async stop() {
      clients.stop();
      server.close();
      await new Promise<void>((resolve) => broker.close(resolve));
    },
    perS: [],
    cpuMicrosEach: [],
  };
}

/** Checks that limits were enforced during the measurement. */
interface Evidence {
  /** The cars draw nearly all of the limits together. */
  isAllGranted(): Promise<boolean>;
  liveKw(): Promise<number>;
  grants(): Promise<number>;
}

async function headroom(): Promise<Contestant & Evidence> {
  const site = createSite(RAISED);
  await provision(site.config, LOCATIONS, 1, SHAPE);
  const metrics = createMetrics();
  const service = new Service(site.config, { metrics });
  const { httpUrl, mqttUrl } = await service.start();
  const clients = await startMeterClients(mqttUrl, CLIENTS);
  return {
    name: 'with enforcement',
    clients,
    async taken() {
      const { values } = await metrics.mqttMessages.get();
      return values.find(({ labels }) => labels.kind === 'meter' && labels.result === 'accepted')?.value ?? 0;
    },
    async isAllGranted() {
      const { values } = await metrics.power.get();
      const drawnW = values.find(({ labels }) => labels.source === 'measured')?.value ?? 0;
      return drawnW > 900 * LIMIT_KW && drawnW <= 1_000 * LIMIT_KW;
    },
    async grants() {
      const { values } = await metrics.grants.get();
      return values.reduce((sum, { value }) => sum + value, 0);
    },
    async stop() {
      clients.stop();
      await service.stop();
      site.remove();
    },
    async liveKw() {
      const headers = { 'x-api-key': API_KEY, 'content-type': 'application/json' };
      const body = JSON.stringify({
        name: 'All',
        locationIds: Array.from({ length: LOCATIONS }, (_, i) => locationIdOf(i)),
      });
      const created = await answered(() =>
        fetch(`${httpUrl}/v1/clusters`, { method: 'POST', headers, body }),
      );
      const { clusterId } = (await created.json()) as { clusterId: string };
      const read = await answered(() => fetch(`${httpUrl}/v1/clusters/${clusterId}`, { headers }));
      return ((await read.json()) as ClusterDetail).liveStatus.actualTotalKw;
    },
    perS: [],
    cpuMicrosEach: [],
  };
}

/** The service refuses deferrable requests while it processes the last messages. */
async function answered(ask: () => Promise<Response>): Promise<Response> {
  for (let asked = 1; ; asked++) {
    const answer = await ask();
    if (answer.ok) return answer;
    if (answer.status !== 503 || asked === MOST_ASKED) throw new Error(await answer.text());
    await passes(ASK_AGAIN_MS);
  }
}

/**
 * Lets the chargers get their grants first: during the measurement the processor is short, and no limit is raised then.
 */
async function untilGranted({ clients, isAllGranted }: Contestant & Evidence): Promise<void> {
  clients.beat();
  for (let asked = 1; !(await isAllGranted()); asked++) {
    if (asked === MOST_ASKED) throw new Error('the chargers were not granted what there is');
    await passes(ASK_AGAIN_MS);
  }
  clients.pause();
}

async function measure(contestant: Contestant): Promise<void> {
  const { clients, perS, cpuMicrosEach } = contestant;
  clients.send();
  await passes(WARM_UP_MS);
  const before = {
    count: await contestant.taken(),
    atMs: systemClock.monotonicMs(),
    cpu: process.cpuUsage(),
  };
  await passes(MEASURED_MS);
  const count = (await contestant.taken()) - before.count;
  const cpu = process.cpuUsage(before.cpu);
  perS.push((count * 1000) / (systemClock.monotonicMs() - before.atMs));
  cpuMicrosEach.push((cpu.user + cpu.system) / count);
  clients.pause();
  // Messages on their way must not be counted in the round of the other contestant.
  await passes(WARM_UP_MS);
}

function passes(ms: number): Promise<void> {
  return new Promise((resolve) => systemClock.after(ms, resolve));
}

const reference = await bareAedes();
const ours = await headroom();
await untilGranted(ours);
for (let round = 0; round < ROUNDS; round++) {
  await measure(reference);
  await measure(ours);
}
const liveKw = await ours.liveKw();
const grants = await ours.grants();
await reference.stop();
await ours.stop();

remark(
  `${machine()}; ${CHARGERS} chargers in a process of their own, one message a write, QoS 0, ` +
    `${meterPayload(1_000_000_000, 'charger-1').length} bytes; ${ROUNDS} × ${MEASURED_MS / 1000} s alternating, medians`,
);
for (const { name, perS, cpuMicrosEach } of [reference, ours]) {
  remark(`${name}: ${median(perS).toFixed(0)}/s, ${median(cpuMicrosEach).toFixed(2)} µs of processor each`);
}
const ratio = median(ours.perS) / median(reference.perS);
const byProcessor = median(reference.cpuMicrosEach) / median(ours.cpuMicrosEach);
// Both keep one core busy all the time, so processor time equals the elapsed time on an idle machine.
remark(`by the clock ${percent(ratio)}; ${grants} grants sent; drawn ${liveKw} of ${LIMIT_KW} kW`);
report([
  {
    name: 'Meter values of 1,000 chargers with enforcement on, against aedes with an empty handler',
    measured: `${percent(byProcessor)} by processor time`,
    goal: '≥ 75 %',
    met: byProcessor >= 0.75 && grants > CHARGERS && liveKw > 0.9 * LIMIT_KW && liveKw <= LIMIT_KW,
  },
]);
