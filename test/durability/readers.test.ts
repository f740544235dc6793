// Readers of a location with several services: behind a front, and at a broker of the operator's own.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { MqttClient } from 'mqtt';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config.js';
import { Front } from '../../src/front.js';
import { createMetrics } from '../../src/metrics.js';
import { hashSecret } from '../../src/secrets.js';
import { Service } from '../../src/service.js';
import { eventually } from '../eventually.js';
import { startMosquitto } from '../mosquitto.js';
import { connectOnce } from '../mqtt-client.js';
import { startNats } from '../nats.js';
import { missingPrograms, needing } from '../needs.js';
import type { DatabaseServer } from '../outbound/knex/database-server.js';
import { missingPostgres, startPostgresServer } from '../outbound/knex/postgres-server.js';
import { HARBOUR, provision, silentLog, site, tenantWith } from '../service/running-service.js';

const PASSWORD = 'only the reader of this site knows it';
const READ = {
  ...site('quay-1'),
  homeAssistant: true,
  reader: { readerUuid: 'screen', mqttSecretHash: hashSecret(PASSWORD) },
};
const LIVE = `ems/v1/${HARBOUR}/quay-1/site/live`;
/** The availability; a state and a discovery of the location and of two connectors. */
const TOPICS = 7;

let server: DatabaseServer;
let dataDir: string;
const stops: (() => Promise<unknown>)[] = [];
beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'headroom-readers-'));
});
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});
afterAll(async () => {
  await server?.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

/** Subscribes to all that a reader may receive. Resolves to the newest payload of each topic. */
async function follow(url: string): Promise<{ client: MqttClient; seen: Map<string, string> }> {
  const login = { clientId: 'screen', username: `${HARBOUR}/screen`, password: PASSWORD };
  const client = await connectOnce(url, { ...login, protocolVersion: 4, keepalive: 30 });
  stops.push(() => client.endAsync(true));
  const seen = new Map<string, string>();
  client.on('message', (topic, payload) => void seen.set(topic, payload.toString()));
  await client.subscribeAsync([`${LIVE}/#`, 'homeassistant/#']);
  return { client, seen };
}

const available = (seen: ReadonlyMap<string, string>) => seen.get(`${LIVE}/availability`);
const said = (word: string) => JSON.stringify({ v: 1, service: word });

async function start(environment: Readonly<Record<string, string>>): Promise<Service> {
  const service = new Service(loadConfig({}, environment), { log: silentLog, metrics: createMetrics() });
  stops.push(() => service.stop());
  await service.start();
  return service;
}

const missing = missingPrograms('nats-server', 'mosquitto');
describe('a reader', needing(missingPostgres(), missing), () => {
  beforeAll(async () => {
    server = await startPostgresServer();
  });

  async function environmentOf(more: Readonly<Record<string, string>>) {
    const environment = {
      HEADROOM_HTTP_PORT: '0',
      HEADROOM_MQTT_PORT: '0',
      HEADROOM_DATA_DIR: dataDir,
      HEADROOM_DATABASE_URL: await server.createDatabase(),
      HEADROOM_OWNER_TTL_S: '1',
      ...more,
    };
    await provision(loadConfig({}, environment), tenantWith(HARBOUR, [READ]));
    return environment;
  }

  it('behind a front receives everything soon after each login, and nothing stale', async () => {
    const nats = await startNats();
    stops.push(() => nats.stop());
    const environment = await environmentOf({ HEADROOM_BUS_URL: nats.url });
    await start({ ...environment, HEADROOM_SHARDED: 'true' });
    const front = new Front(loadConfig({}, environment), { log: silentLog, metrics: createMetrics() });
    stops.push(() => front.stop());
    const { mqttUrl } = await front.start();
    for (let login = 0; login < 4; login++) {
      const { client, seen } = await follow(mqttUrl);
      await eventually(() => expect(seen.size).toBe(TOPICS));
      await client.endAsync(true);
    }
  });

  it('at a broker of the operator receives the end of one owner and the begin of the next', async () => {
    const broker = await startMosquitto();
    stops.push(() => broker.stop());
    const environment = await environmentOf({ HEADROOM_MQTT_URL: broker.url });
    const first = await start({ ...environment, HEADROOM_STANDBY: 'true' });
    const { seen } = await follow(broker.url);
    await eventually(() => expect(seen.size).toBe(TOPICS));
    expect(available(seen)).toBe(said('online'));
    await first.stop();
    await eventually(() => expect(available(seen)).toBe(said('offline')));
    await start({ ...environment, HEADROOM_STANDBY: 'true' });
    await eventually(() => expect(available(seen)).toBe(said('online')));
  });

  it('at a broker of the operator receives the end of an opt-in that ended while the service was away', async () => {
    const broker = await startMosquitto();
    stops.push(() => broker.stop());
    const environment = await environmentOf({ HEADROOM_MQTT_URL: broker.url });
    const first = await start(environment);
    const before = await follow(broker.url);
    await eventually(() => expect(before.seen.size).toBe(TOPICS));
    await first.stop();
    const tenant = tenantWith(HARBOUR, [{ ...READ, homeAssistant: false }]);
    await provision(loadConfig({}, environment), tenant);
    await start(environment);
    await eventually(() => expect([...before.seen.values()].join('')).toBe(''));
    const later = await follow(broker.url);
    await later.client.subscribeAsync('other');
    expect(later.seen.size).toBe(0);
  });
});
