// Nodes that share the tenants behind two fronts, a NATS and an HAProxy. Chargers keep their leases if a front or the
// NATS fails.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, connectAsync, type MqttClient } from 'mqtt';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { TenantUuid } from '../../machines/values/ids.js';
import { ALL_SHARDS, shardOf } from '../../machines/values/shards.js';
import { ConfigError, loadConfig } from '../../src/config.js';
import { Front } from '../../src/front.js';
import { createMetrics } from '../../src/metrics.js';
import { hashSecret } from '../../src/secrets.js';
import { Service } from '../../src/service.js';
import { runAlone, serve } from '../cli/headroom.js';
import { eventually } from '../eventually.js';
import { freePort } from '../free-port.js';
import { type NatsServer, startNats } from '../nats.js';
import { missingPrograms, needing } from '../needs.js';
import type { DatabaseServer } from '../outbound/knex/database-server.js';
import { missingPostgres, startPostgresServer } from '../outbound/knex/postgres-server.js';
import { testCases } from '../seeds.js';
import {
  apiKeyOf,
  CHARGER_PASSWORD,
  provision,
  silentLog,
  site,
  tenantWith,
} from '../service/running-service.js';

const TENANTS = [0, 1, 2, 3].map((i) => `0000000${i}-6d0f-4e0e-9f0a-5f6c3b1d2a10` as TenantUuid);
const [TENANT] = TENANTS as [TenantUuid];

describe('settings of fronts and of nodes behind them', () => {
  const front = { HEADROOM_BUS_URL: 'nats://a', HEADROOM_DATABASE_URL: 'postgres://a/b' };
  it.each([
    [{ ...front, HEADROOM_BUS_URL: '' }, /--front: needs NATS .* HEADROOM_BUS_URL/],
    [
      { ...front, HEADROOM_DATABASE_URL: 'sqlite:a' },
      /--front: .*PostgreSQL of the nodes.*HEADROOM_DATABASE_URL/,
    ],
    [{ ...front, HEADROOM_DATABASE_URL: '' }, /--front: .*PostgreSQL of the nodes.*HEADROOM_DATABASE_URL/],
    [{ ...front, HEADROOM_SHARDED: 'true' }, /--front: .*leave HEADROOM_SHARDED out/],
    [{ ...front, HEADROOM_STANDBY: 'true' }, /--front: .*leave HEADROOM_STANDBY out/],
    [
      { ...front, HEADROOM_BUS_URL: '', HEADROOM_MQTT_URL: 'mqtt://a' },
      /HEADROOM_MQTT_URL: .*leave it out with --front/,
    ],
  ])('%j are refused for a front in one line', (environment, line) => {
    expect(() => new Front(loadConfig({}, environment))).toThrow(ConfigError);
    expect(() => new Front(loadConfig({}, environment))).toThrow(line);
  });

  it.each([
    [{ HEADROOM_BUS_URL: 'mqtt://a' }, /HEADROOM_BUS_URL: .*must be nats:\/\//],
    [{ HEADROOM_BUS_URL: 'nats://a,b' }, /HEADROOM_BUS_URL: .*must be nats:\/\//],
    [{ HEADROOM_BUS_URL: 'nats://a', HEADROOM_MQTT_URL: 'mqtt://a' }, /HEADROOM_BUS_URL: .*set one of them/],
    [{ HEADROOM_BUS_CA: 'a.pem' }, /HEADROOM_BUS_CA: .*HEADROOM_BUS_URL/],
    [{ HEADROOM_BUS_CA: 'a.pem', HEADROOM_BUS_URL: 'nats://a' }, /HEADROOM_BUS_CA: needs tls:/],
  ])('%j are refused for both', (environment, line) => {
    expect(() => loadConfig({}, environment)).toThrow(line);
  });

  it('end the command with a line that names the missing setting', async () => {
    expect(await runAlone(['serve', '--front'])).toMatchObject({
      code: 2,
      stderr: /^headroom: --front: needs NATS.*\n$/,
    });
  });
});

const missing = missingPrograms('nats-server', 'haproxy');
describe('chargers behind two fronts', needing(missingPostgres(), missing), () => {
  let server: DatabaseServer;
  let nats: NatsServer;
  let dataDir: string;
  let environment: Record<string, string>;
  const services: Service[] = [];
  const clients: MqttClient[] = [];

  beforeAll(async () => {
    server = await startPostgresServer();
    dataDir = mkdtempSync(join(tmpdir(), 'headroom-fronts-'));
  });
  beforeEach(async () => {
    nats = await startNats();
    const databaseUrl = await server.createDatabase();
    environment = {
      HEADROOM_HTTP_PORT: '0',
      HEADROOM_MQTT_PORT: '0',
      HEADROOM_DATA_DIR: dataDir,
      HEADROOM_DATABASE_URL: databaseUrl,
      HEADROOM_BUS_URL: nats.url,
      HEADROOM_OWNER_TTL_S: '1',
    };
    const tenants = TENANTS.map((tenantUuid) => tenantWith(tenantUuid, [site('quay-1')]));
    await provision(loadConfig({}, environment), ...tenants);
  });
  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.endAsync(true)));
    await Promise.all(services.splice(0).map((service) => service.stop()));
    await nats.stop();
  });
  afterAll(async () => {
    await server?.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  /** Starts nodes and waits until they have shared all tenants. Resolves to their URLs. */
  async function startNodes(count: number): Promise<readonly string[]> {
    const held: (readonly number[])[] = [];
    const urls: string[] = [];
    for (let i = 0; i < count; i++) {
      const config = loadConfig({}, { ...environment, HEADROOM_SHARDED: 'true' });
      const onShards = (shards: readonly number[]) => {
        held[i] = shards;
      };
      const service = new Service(config, { log: silentLog, metrics: createMetrics(), onShards });
      services.push(service);
      urls.push((await service.start()).httpUrl);
    }
    await eventually(() => {
      expect(held.flat().sort((a, b) => a - b)).toEqual(ALL_SHARDS);
      expect(held.every((shards) => shards.length > 0)).toBe(true);
    });
    return urls;
  }

  /** Starts a front as a process of its own, as an operator does. */
  function startFront() {
    return serve(dataDir, environment, ['--front']);
  }

  type RunningFront = Awaited<ReturnType<typeof startFront>>;

  /** Starts the balancer that chargers connect to. It forwards to healthy fronts only. */
  async function startBalancer(fronts: readonly RunningFront[]): Promise<string> {
    const port = await freePort();
    const portOf = (url: string) => new URL(url).port;
    const servers = fronts.map(
      ({ httpUrl, mqttUrl }, i) =>
        `  server front-${i} 127.0.0.1:${portOf(mqttUrl)} check port ${portOf(httpUrl)} inter 200 fall 2 rise 1 on-marked-down shutdown-sessions`,
    );
    const file = join(dataDir, `haproxy-${port}.cfg`);
    writeFileSync(
      file,
      `defaults
  mode tcp
  timeout connect 2s
  timeout client 3m
  timeout server 3m
  retries 3
  option redispatch 1
frontend mqtt
  bind 127.0.0.1:${port}
  default_backend fronts
backend fronts
  option httpchk GET /health
${servers.join('\n')}
`,
    );
    const balancer = spawn('haproxy', ['-db', '-f', file], { stdio: 'ignore' });
    const ended = once(balancer, 'exit');
    onTestFinished(async () => {
      balancer.kill('SIGKILL');
      await ended;
    });
    return `mqtt://127.0.0.1:${port}`;
  }

  interface Charger {
    readonly client: MqttClient;
    /** The limits that the charger received. */
    readonly limits: { readonly seq: number; readonly ttlS: number; readonly limitA: number }[];
    /** Sends one heartbeat, which is lost without a connection. */
    beat(): void;
  }

  /** Like firmware, the charger reconnects by itself and sends its state after each connect. */
  async function charger(url: string, tenantUuid: TenantUuid): Promise<Charger> {
    const prefix = `ems/v1/${tenantUuid}/quay-1/quay-1-a`;
    const state = (online: boolean) => JSON.stringify({ v: 1, online, boot: 'boot-1' });
    const client = await eventually(() =>
      connectAsync(url, {
        clientId: 'quay-1-a',
        username: `${tenantUuid}/quay-1-a`,
        password: CHARGER_PASSWORD,
        protocolVersion: 4,
        keepalive: 30,
        reconnectPeriod: 200,
        will: { topic: `${prefix}/state`, payload: Buffer.from(state(false)), qos: 1, retain: true },
      }),
    );
    clients.push(client);
    client.on('error', () => {});
    const limits: Charger['limits'] = [];
    client.on('message', (topic, payload) => {
      if (topic.endsWith('/limit')) limits.push(JSON.parse(payload.toString()));
    });
    client.on('connect', () => client.publish(`${prefix}/state`, state(true), { qos: 1 }));
    // A balancer may find a front slow and end its connections. The client then reconnects by itself.
    await eventually(() => client.subscribeAsync([`${prefix}/sync`, `${prefix}/c/1/limit`], { qos: 1 }));
    await client.publishAsync(`${prefix}/state`, state(true), { qos: 1 });
    let hb = 0;
    return {
      client,
      limits,
      beat() {
        if (!client.connected) return;
        client.publish(
          `${prefix}/c/1/meter`,
          JSON.stringify({ v: 1, boot: 'boot-1', hb: ++hb, status: 'Charging', powerW: 4_000 }),
        );
      },
    };
  }

  /** Waits until each charger has at least one more limit. */
  async function areRenewed(chargers: readonly Charger[]): Promise<void> {
    const before = chargers.map(({ limits }) => limits.length);
    await eventually(() => {
      for (const each of chargers) each.beat();
      for (const [i, { limits }] of chargers.entries()) expect(limits.length).toBeGreaterThan(before[i] ?? 0);
    });
  }

  async function metricOf({ httpUrl }: { readonly httpUrl: string }, name: string): Promise<number> {
    const text = await (await fetch(`${httpUrl}/metrics`)).text();
    const line = text.split('\n').find((each) => each.startsWith(`${name} `) || each.startsWith(`${name}{`));
    return Number(line?.split(' ').at(-1) ?? Number.NaN);
  }

  /** The link of the charger's connector in the live answer of a node. */
  async function linkOf(nodeUrl: string, tenantUuid: TenantUuid): Promise<unknown> {
    const answer = await fetch(`${nodeUrl}/v1/locations/quay-1/live`, {
      headers: { 'x-api-key': apiKeyOf(tenantUuid) },
    });
    return ((await answer.json()) as { connectors: { link: string }[] }).connectors[0]?.link;
  }

  it('are served by the node of their tenant, at either front', async () => {
    const [nodeUrl] = (await startNodes(2)) as [string];
    const fronts = await Promise.all([startFront(), startFront()]);
    const chargers = await Promise.all(
      TENANTS.map((tenantUuid, i) => charger(fronts[i % 2]?.mqttUrl ?? '', tenantUuid)),
    );
    expect(new Set(TENANTS.map(shardOf)).size).toBeGreaterThan(1);
    await areRenewed(chargers);
    for (const { limits } of chargers) expect(limits.at(-1)?.ttlS).toBe(60);
    for (const tenantUuid of TENANTS) expect(await linkOf(nodeUrl, tenantUuid)).toBe('online');
    for (const front of fronts) {
      const health = await fetch(`${front.httpUrl}/health`);
      expect([health.status, await health.json()]).toMatchObject([
        200,
        { status: 'ok', role: 'front', checks: { broker: 'ok', bus: 'ok' } },
      ]);
      expect(await metricOf(front, 'headroom_mqtt_connections')).toBe(TENANTS.length / 2);
      expect(await metricOf(front, 'headroom_bus_connected')).toBe(1);
      const answer = await fetch(`${front.httpUrl}/v1/locations`);
      expect([answer.status, await answer.json()]).toMatchObject([
        404,
        { error: { code: 'NOT_FOUND', message: expect.stringContaining('front') } },
      ]);
    }
  });

  it('are refused with a wrong password, and disconnected within seconds after theirs changes', async () => {
    await startNodes(1);
    const front = await startFront();
    const { client, beat, limits } = await charger(front.mqttUrl, TENANT);
    await eventually(() => {
      beat();
      expect(limits).not.toEqual([]);
    });
    const wrong = {
      clientId: 'quay-1-a',
      username: `${TENANT}/quay-1-a`,
      password: 'a wrong one',
      reconnectPeriod: 0,
    };
    await expect(connectAsync(front.mqttUrl, wrong)).rejects.toMatchObject({ code: 4 });
    const quay = site('quay-1');
    const changed = quay.chargers.map((each) => ({
      ...each,
      mqttSecretHash: hashSecret('the next password'),
    }));
    const closed = new Promise<void>((resolve) => client.once('close', () => resolve()));
    await provision(loadConfig({}, environment), tenantWith(TENANT, [{ ...quay, chargers: changed }]));
    await closed;
    expect(await metricOf(front, 'headroom_mqtt_refusals_total{reason="revoked"}')).toBe(1);
  });

  it('move to the other front after theirs is killed, and keep their leases', async () => {
    const [nodeUrl] = (await startNodes(2)) as [string];
    const fronts = (await Promise.all([startFront(), startFront()])) as [RunningFront, RunningFront];
    const url = await startBalancer(fronts);
    const chargers = await Promise.all(TENANTS.map((tenantUuid) => charger(url, tenantUuid)));
    await areRenewed(chargers);
    const isFirstInUse = (await metricOf(fronts[0], 'headroom_mqtt_connections')) > 0;
    const [lost, other] = isFirstInUse ? fronts : [fronts[1], fronts[0]];
    const before = chargers.map(({ limits }) => limits.at(-1)?.seq ?? 0);
    await lost.stop('SIGKILL');
    await areRenewed(chargers);
    await eventually(async () =>
      expect(await metricOf(other, 'headroom_mqtt_connections')).toBe(TENANTS.length),
    );
    for (const [i, { limits }] of chargers.entries())
      expect(limits.at(-1)?.seq).toBeGreaterThan(before[i] ?? 0);
    for (const tenantUuid of TENANTS)
      await eventually(async () => expect(await linkOf(nodeUrl, tenantUuid)).toBe('online'));
  });

  it('leave their old front without a last will after they connect to another one', async () => {
    const [nodeUrl] = (await startNodes(1)) as [string];
    const fronts = (await Promise.all([startFront(), startFront()])) as [RunningFront, RunningFront];
    const first = await charger(fronts[0].mqttUrl, TENANT);
    first.client.options.reconnectPeriod = 0;
    await areRenewed([first]);
    const second = await charger(fronts[1].mqttUrl, TENANT);
    await eventually(() => expect(first.client.connected).toBe(false));
    await areRenewed([second]);
    expect(await linkOf(nodeUrl, TENANT)).toBe('online');
    expect(await metricOf(fronts[0], 'headroom_mqtt_refusals_total{reason="elsewhere"}')).toBe(1);
    const alarms = await fetch(`${nodeUrl}/v1/alarms`, { headers: { 'x-api-key': apiKeyOf(TENANT) } });
    const began = (
      (await alarms.json()) as { alarms: { kind: string; connectorId?: string; endedAt?: string }[] }
    ).alarms;
    // The connector was offline before its first connection, and never since.
    expect(
      began.filter(({ kind, connectorId }) => kind === 'OFFLINE' && connectorId === '1').length,
    ).toBeLessThanOrEqual(1);
  });

  const ends = { always: ['killed'], more: ['frozen'] } as const;
  testCases<'killed' | 'frozen'>(ends, 'come back after the NATS was %s, and go on', async (how) => {
    await startNodes(2);
    const fronts = await Promise.all([startFront(), startFront()]);
    const url = await startBalancer(fronts);
    const chargers = await Promise.all(TENANTS.map((tenantUuid) => charger(url, tenantUuid)));
    await areRenewed(chargers);
    if (how === 'killed') await nats.kill();
    else nats.pause();
    for (const { httpUrl } of fronts)
      await eventually(async () => {
        const health = await fetch(`${httpUrl}/health`);
        expect([health.status, await health.json()]).toMatchObject([503, { checks: { bus: 'failing' } }]);
      });
    await eventually(() => expect(chargers.every(({ client }) => !client.connected)).toBe(true));
    // The front closes the connection before the first packet.
    const turnedAway = connect(fronts[0]?.mqttUrl ?? '', { reconnectPeriod: 0 });
    await new Promise<void>((resolve) => turnedAway.once('close', () => resolve()));
    expect(turnedAway.connected).toBe(false);
    await turnedAway.endAsync(true);

    if (how === 'killed') await nats.start();
    else nats.resume();
    await areRenewed(chargers);
    for (const front of fronts)
      await eventually(async () => expect(await metricOf(front, 'headroom_bus_connected')).toBe(1));
  });
});
