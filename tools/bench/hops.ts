// Counts the files and functions of Headroom that run for one request: V8's precise coverage of six ways through the service.
// `--list` names the files and functions of each way; `--way=TEXT` selects the ways with this text in their names,
// and `--rounds=N` plays more rounds of each, for a busy machine.
import { Session } from 'node:inspector/promises';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { connectAsync, type MqttClient } from 'mqtt';
import type { ChargerAddress, ConnectorId } from '../../machines/values/ids.js';
import { systemClock } from '../../src/clock.js';
import { Service } from '../../src/service.js';
import { toInstant } from '../../src/wire/instants.js';
import type { LimitMessage } from '../../src/wire/mqtt.js';
import { buildTopic } from '../../src/wire/topics.js';
import { remark } from './bench.js';
import {
  API_KEY,
  controllerUuidOf,
  createSite,
  locationIdOf,
  MQTT_SECRET,
  provision,
  silentLog,
  TENANT,
} from './site.js';

const { values: flags } = parseArgs({
  options: {
    list: { type: 'boolean' },
    way: { type: 'string', default: '' },
    rounds: { type: 'string', default: '4' },
  },
});

const DIST = fileURLToPath(new URL('../..', import.meta.url));
const LOCATION_ID = locationIdOf(0);
const CONNECTOR_ID = '1' as ConnectorId;
const VOLTAGE_V = 230;
/** Two chargers of 32 A share 50 kW without a profile; each of the profiles makes the limit bind. */
const LOW_KW = 20;
const HIGH_KW = 30;
const ROUNDS = Number(flags.rounds);
/** Of ways that need no preparation. */
const QUICK_ROUNDS = 40;
/** The service renews a grant that is older than 6.7 s, at the next heartbeat. */
const RENEWS_AFTER_MS = 7_500;
const SETTLES_MS = 1_500;
const WINDOW_MS = 1_500;
const BEFORE_BOUNDARY_MS = 60;

/** Names of the functions that ran, by file. */
type Ran = ReadonlyMap<string, readonly string[]>;

const sumOf = (ran: Ran) => [...ran.values()].reduce((sum, { length }) => sum + length, 0);

function passes(ms: number): Promise<void> {
  return new Promise((resolve) => systemClock.after(ms, resolve));
}

/** A charger with one connector. It acknowledges each limit, and reports when it is asked to. */
class Charger {
  readonly #client: MqttClient;
  readonly #address: ChargerAddress;
  readonly #waiting: ((limit: LimitMessage) => void)[] = [];
  #hb = 0;
  #held = { epoch: 0, seq: 0, limitA: 6 };

  static async connect(mqttUrl: string, number: number): Promise<Charger> {
    const controllerUuid = controllerUuidOf(number);
    const client = await connectAsync(mqttUrl, {
      clientId: controllerUuid,
      username: `${TENANT}/${controllerUuid}`,
      password: MQTT_SECRET,
    });
    const charger = new Charger(client, { tenantUuid: TENANT, locationId: LOCATION_ID, controllerUuid });
    await client.subscribeAsync(charger.#topic('limit'), { qos: 1 });
    const connector = { id: CONNECTOR_ID, phases: 3, minA: 6, maxA: 32, failsafeA: 6 };
    const state = {
      v: 1,
      online: true,
      boot: controllerUuid,
      connectors: [{ ...connector, lease: 'heartbeat', keepsThen: true }],
    };
    await client.publishAsync(buildTopic({ ...charger.#address, kind: 'state' }), JSON.stringify(state), {
      qos: 1,
      retain: true,
    });
    return charger;
  }

  private constructor(client: MqttClient, address: ChargerAddress) {
    this.#client = client;
    this.#address = address;
    client.on('message', (_, payload) => {
      const limit = JSON.parse(payload.toString()) as LimitMessage;
      this.#held = { epoch: limit.epoch, seq: limit.seq, limitA: limit.limitA };
      for (const resolve of this.#waiting.splice(0)) resolve(limit);
    });
  }

  /** Resolves with the next limit that reaches the charger. */
  nextLimit(): Promise<LimitMessage> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  async report(status: 'Available' | 'Charging'): Promise<void> {
    this.#hb++;
    const drawnA = status === 'Charging' ? this.#held.limitA : 0;
    const meter = {
      v: 1,
      boot: this.#address.controllerUuid,
      hb: this.#hb,
      at: toInstant(systemClock.nowMs()),
      status,
      powerW: Math.round(3 * VOLTAGE_V * drawnA),
      currentA: [drawnA, drawnA, drawnA],
      voltageV: [VOLTAGE_V, VOLTAGE_V, VOLTAGE_V],
      ...this.#held,
      leaseLeftS: 50,
    };
    await this.#client.publishAsync(this.#topic('meter'), JSON.stringify(meter));
  }

  async acknowledge(): Promise<void> {
    const { epoch, seq, limitA: appliedA } = this.#held;
    const ack = { v: 1, boot: this.#address.controllerUuid, epoch, seq, result: 'APPLIED', appliedA };
    await this.#client.publishAsync(this.#topic('ack'), JSON.stringify(ack), { qos: 1 });
  }

  async stop(): Promise<void> {
    await this.#client.endAsync();
  }

  #topic(kind: 'limit' | 'meter' | 'ack'): string {
    return buildTopic({ ...this.#address, connectorId: CONNECTOR_ID, kind });
  }
}

const site = createSite();
await provision(site.config, 2, 1, { chargersEach: 2, permanentLimitKw: 50, gridLimitKw: 80 });
const service = new Service(site.config, { log: silentLog });
const { httpUrl, mqttUrl } = await service.start();
const [first, second] = [await Charger.connect(mqttUrl, 0), await Charger.connect(mqttUrl, 1)];
const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });

async function request(
  method: string,
  path: string,
  body?: unknown,
  locationId = LOCATION_ID,
): Promise<void> {
  const response = await fetch(`${httpUrl}/v1/locations/${locationId}${path}`, {
    method,
    headers: { 'x-api-key': API_KEY, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${method} ${path} was answered with ${response.status}`);
  await response.text();
}

async function submit(limitKw: number, lastsMs: number, locationId = LOCATION_ID): Promise<void> {
  const now = systemClock.nowMs();
  const window = { startTime: toInstant(now), endTime: toInstant(now + lastsMs) };
  await request('POST', '/schedules', { priority: 5, limitKw, ...window }, locationId);
}

/** The functions of `machines` and `src` that ran since coverage was taken last. */
async function ranSince(): Promise<Ran> {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const ran = new Map<string, readonly string[]>();
  for (const { url, functions } of result) {
    if (!url.startsWith('file:')) continue;
    const path = relative(DIST, fileURLToPath(url));
    if (!/^(src|machines)\//.test(path)) continue;
    const names = functions
      .filter(({ ranges: [whole] }) => (whole?.count ?? 0) > 0)
      .map(({ functionName }) => functionName || '=>');
    if (names.length > 0) ran.set(path, names);
  }
  return ran;
}

/** Both chargers report, and acknowledge the limits that follow. */
async function settle(): Promise<void> {
  await passes(SETTLES_MS);
  for (const charger of [first, second]) {
    await charger.acknowledge();
    await charger.report('Charging');
  }
  await passes(SETTLES_MS);
}

interface Way {
  readonly name: string;
  readonly prepare?: () => Promise<void>;
  readonly go: () => Promise<unknown>;
}

let limitKw = LOW_KW;
const changedKw = () => {
  limitKw = limitKw === LOW_KW ? HIGH_KW : LOW_KW;
  return limitKw;
};
let endsAtMs = 0;

const WAYS: readonly Way[] = [
  {
    name: 'POST schedule → answer',
    // At a location without connected chargers: nothing follows the answer.
    go: () => submit(LOW_KW, 600_000, locationIdOf(1)),
  },
  {
    name: 'POST schedule → command at the charger',
    prepare: settle,
    go: async () => {
      const limit = first.nextLimit();
      await submit(changedKw(), 600_000);
      await limit;
    },
  },
  {
    name: 'window boundary → command',
    prepare: async () => {
      endsAtMs = systemClock.nowMs() + 2 * SETTLES_MS + WINDOW_MS;
      await submit(LOW_KW, endsAtMs - systemClock.nowMs());
      await settle();
      await passes(endsAtMs - BEFORE_BOUNDARY_MS - systemClock.nowMs());
    },
    go: () => first.nextLimit(),
  },
  {
    name: 'meter value, renewal only',
    prepare: async () => {
      await settle();
      await passes(RENEWS_AFTER_MS);
    },
    go: async () => {
      const limit = first.nextLimit();
      await first.report('Charging');
      await limit;
    },
  },
  {
    name: 'meter value → decision → command',
    prepare: async () => {
      await submit(LOW_KW, 600_000);
      await settle();
      await second.report('Available');
      await settle();
    },
    go: async () => {
      const limit = first.nextLimit();
      await second.report('Available');
      await limit;
    },
  },
  { name: 'GET live', go: () => request('GET', '/live') },
];

for (const { name, prepare, go } of WAYS.filter(({ name }) => name.includes(flags.way))) {
  let fewest: Ran | undefined;
  // Timers run meanwhile, too: the round with the fewest functions counts. The first rounds warm caches.
  for (let round = 0; round < (prepare === undefined ? QUICK_ROUNDS : ROUNDS); round++) {
    await prepare?.();
    await ranSince();
    await go();
    const ran = await ranSince();
    if (fewest === undefined || sumOf(ran) < sumOf(fewest)) fewest = ran;
  }
  if (fewest === undefined) throw new Error('nothing was counted');
  remark(`${name}: ${fewest.size} files, ${sumOf(fewest)} functions`);
  if (flags.list)
    for (const [path, names] of [...fewest].sort())
      remark(`  ${String(names.length).padStart(3)} ${path}: ${names.join(' ')}`);
}
session.disconnect();
await first.stop();
await second.stop();
await service.stop();
site.remove();
