// Several nodes that share the tenants of one PostgreSQL beside one mosquitto: each runs some, and all answer every
// request.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectAsync } from 'mqtt';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { TenantUuid } from '../../machines/values/ids.js';
import { ALL_SHARDS, SHARDS, shardOf } from '../../machines/values/shards.js';
import { ConfigError, loadConfig } from '../../src/config.js';
import { createMetrics } from '../../src/metrics.js';
import type { Log } from '../../src/ports/log.js';
import type { SharedDatabase } from '../../src/ports/shared-database.js';
import { StoreUnavailableError } from '../../src/ports/store.js';
import { type Seams, Service } from '../../src/service.js';
import { eventually } from '../eventually.js';
import { fetchOnce } from '../fetch-once.js';
import { readEvents } from '../inbound/http/event-reader.js';
import { startMosquitto } from '../mosquitto.js';
import { missingPrograms, needing } from '../needs.js';
import type { DatabaseServer } from '../outbound/knex/database-server.js';
import { missingPostgres, startPostgresServer } from '../outbound/knex/postgres-server.js';
import { apiKeyOf, provision, silentLog, site, tenantWith } from './running-service.js';
import { startWebhookReceiver } from './webhook-receiver.js';

/**
 * Each tenant is in its own shard, and they are one more than half the shards. So each of two nodes owns some of
 * them, independent of their names.
 */
const TENANTS = distinctTenants(SHARDS / 2 + 1);

function distinctTenants(count: number): TenantUuid[] {
  const found = new Map<number, TenantUuid>();
  for (let i = 0; found.size < count; i++) {
    const tenantUuid = `${String(i).padStart(8, '0')}-6d0f-4e0e-9f0a-5f6c3b1d2a10` as TenantUuid;
    if (!found.has(shardOf(tenantUuid))) found.set(shardOf(tenantUuid), tenantUuid);
  }
  return [...found.values()];
}

interface Node {
  readonly url: string;
  readonly service: Service;
  readonly logged: readonly (readonly [object, string])[];
  database: SharedDatabase | undefined;
  held: readonly number[];
}

describe('settings of a node that shares the tenants', () => {
  const given = { HEADROOM_SHARDED: 'true', HEADROOM_DATABASE_URL: 'postgres://a/b' };
  it.each([
    [
      { HEADROOM_SHARDED: 'true', HEADROOM_MQTT_URL: 'mqtt://a' },
      /HEADROOM_SHARDED: several nodes need a PostgreSQL/,
    ],
    [given, /HEADROOM_SHARDED: chargers need a broker that all nodes reach; name it in HEADROOM_MQTT_URL/],
    [{ ...given, HEADROOM_STANDBY: 'true' }, /HEADROOM_SHARDED: .*leave HEADROOM_STANDBY out/],
    [
      { ...given, HEADROOM_MQTT_URL: 'mqtt://a', HEADROOM_HTTP_HOST: '::' },
      /HEADROOM_NODE_URL: name the address at which other nodes reach this one/,
    ],
  ])('%j are refused in one line', (environment, line) => {
    expect(() => loadConfig({}, environment)).toThrow(ConfigError);
    expect(() => loadConfig({}, environment)).toThrow(line);
  });
});

describe('nodes that share the tenants', needing(missingPostgres(), missingPrograms('mosquitto')), () => {
  let server: DatabaseServer;
  let broker: Awaited<ReturnType<typeof startMosquitto>>;
  let databaseUrl: string;
  let dataDir: string;
  const nodes: Node[] = [];
  beforeAll(async () => {
    server = await startPostgresServer();
    broker = await startMosquitto();
    dataDir = mkdtempSync(join(tmpdir(), 'headroom-nodes-'));
  });
  afterEach(async () => {
    await Promise.all(nodes.splice(0).map(({ service }) => service.stop()));
  });
  afterAll(async () => {
    await server?.stop();
    await broker?.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  /** @param spoil wraps the node's database */
  async function startNode(
    seams: Seams = {},
    spoil = (database: SharedDatabase): SharedDatabase => database,
  ): Promise<Node> {
    const config = loadConfig(
      {},
      {
        HEADROOM_HTTP_PORT: '0',
        HEADROOM_DATA_DIR: dataDir,
        HEADROOM_DATABASE_URL: databaseUrl,
        HEADROOM_MQTT_URL: broker.url,
        HEADROOM_SHARDED: 'true',
        HEADROOM_WEBHOOK_PRIVATE: 'true',
      },
    );
    const logged: [object, string][] = [];
    const note = (fields: object, text: string) => void logged.push([fields, text]);
    const log: Log = { ...silentLog, warn: note, error: note };
    const service = new Service(config, {
      log,
      metrics: createMetrics(),
      ...seams,
      onShards: (held) => void Object.assign(node, { held }),
      wrapDatabase: (opened) => {
        const database = spoil(opened);
        node.database = database;
        return database;
      },
    });
    const node: Node = { url: '', service, logged, database: undefined, held: [] };
    nodes.push(node);
    const { httpUrl } = await service.start();
    return Object.assign(node, { url: httpUrl });
  }

  async function startNodes(count: number): Promise<readonly Node[]> {
    databaseUrl = await server.createDatabase();
    const config = loadConfig({}, { HEADROOM_DATABASE_URL: databaseUrl });
    await provision(config, ...TENANTS.map((tenantUuid) => tenantWith(tenantUuid, [site('quay-1')])));
    for (let i = 0; i < count; i++) await startNode();
    await areShared(...nodes);
    return [...nodes];
  }

  /** Resolves when these nodes own all shards, each by one node, and each node as many. */
  function areShared(...among: readonly Node[]): Promise<void> {
    return eventually(() => {
      expect(among.flatMap(({ held }) => held).sort((a, b) => a - b)).toEqual(ALL_SHARDS);
      const counts = among.map(({ held }) => held.length);
      expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
    });
  }

  function ownerOf(tenantUuid: TenantUuid): Node {
    const owner = nodes.find(({ held }) => held.includes(shardOf(tenantUuid)));
    if (owner === undefined) throw new Error('nobody owns it');
    return owner;
  }

  const HEADERS = { 'content-type': 'application/json' };

  function put({ url }: Node, tenantUuid: TenantUuid, limitKw: number): Promise<Response> {
    return fetchOnce(`${url}/v1/locations/quay-1/limit`, {
      method: 'PUT',
      headers: { ...HEADERS, 'x-api-key': apiKeyOf(tenantUuid) },
      body: JSON.stringify({ limitKw }),
    });
  }

  async function limitOf({ url }: Node, tenantUuid: TenantUuid): Promise<unknown> {
    const answer = await fetch(`${url}/v1/locations/quay-1/limits`, {
      headers: { 'x-api-key': apiKeyOf(tenantUuid) },
    });
    if (answer.status !== 200) throw new Error(`${answer.status} ${await answer.text()}`);
    return ((await answer.json()) as { permanentLimitKw: number }).permanentLimitKw;
  }

  it('own as many shards, and each answers for every tenant', async () => {
    const [first, second, third] = (await startNodes(3)) as [Node, Node, Node];
    for (const [i, tenantUuid] of TENANTS.entries()) {
      expect((await put(first, tenantUuid, 20 + i)).status).toBe(200);
      for (const node of [first, second, third]) expect(await limitOf(node, tenantUuid)).toBe(20 + i);
    }
    const foreign = await fetch(`${second.url}/v1/locations/quay-1/limits`, {
      headers: { 'x-api-key': 'no' },
    });
    expect(foreign.status).toBe(401);
    const token = await fetch(`${third.url}/v1/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        client_secret: 'client secret',
        client_id: `client-${TENANTS[0]?.slice(0, 8)}`,
      }),
    });
    const { access_token } = (await token.json()) as { access_token: string };
    for (const { url } of [first, second, third]) {
      const headers = { authorization: `Bearer ${access_token}` };
      expect((await fetch(`${url}/v1/locations/quay-1/limits`, { headers })).status).toBe(200);
    }
  });

  it('refuse a credential from the request on that follows its end, on every node, and after its shard has moved', async () => {
    const [first, second, third] = (await startNodes(3)) as [Node, Node, Node];
    const tenantUuid = TENANTS.find((each) => ownerOf(each) === first) ?? TENANTS[0];
    if (tenantUuid === undefined) throw new Error('there is no tenant');
    const owner = ownerOf(tenantUuid);
    const admin = { 'x-api-key': apiKeyOf(tenantUuid), 'content-type': 'application/json' };
    const ask = ({ url }: Node, method: string, path: string, body?: object) =>
      fetch(`${url}/v1/credentials/${path}`, {
        method,
        headers: admin,
        ...(body && { body: JSON.stringify(body) }),
      });
    const statuses = (headers: Record<string, string>, among: readonly Node[]) =>
      Promise.all(
        among.map(async ({ url }) => (await fetch(`${url}/v1/locations/quay-1/limits`, { headers })).status),
      );
    const create = async (kind: 'api-keys' | 'clients', name: string) => {
      // The request goes through a node that only forwards it.
      const by = [second, third].find((node) => node !== owner) ?? first;
      const answer = await ask(by, 'POST', kind, { name, scopes: ['locations:read'] });
      expect(answer.status).toBe(201);
      return (await answer.json()) as Record<string, string>;
    };
    const { apiKey = '', keyId } = await create('api-keys', 'A key');
    const { clientId = '', clientSecret = '' } = await create('clients', 'A client');
    const key = { 'x-api-key': apiKey };
    expect(await statuses(key, [owner])).toEqual([200]);
    const body = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
    });
    const token = await (await fetch(`${owner.url}/v1/oauth/token`, { method: 'POST', body })).json();
    const bearer = { authorization: `Bearer ${(token as { access_token: string }).access_token}` };
    for (const headers of [key, bearer])
      await eventually(async () => expect(await statuses(headers, nodes)).toEqual([200, 200, 200]));
    expect((await ask(second, 'DELETE', `api-keys/${keyId}`)).status).toBe(200);
    expect(await statuses(key, nodes)).toEqual([401, 401, 401]);
    expect((await ask(third, 'DELETE', `clients/${clientId}`)).status).toBe(200);
    expect(await statuses(bearer, nodes)).toEqual([401, 401, 401]);

    const last = await create('api-keys', 'The last');
    const held = { 'x-api-key': last.apiKey ?? '' };
    const others = nodes.filter((node) => node !== owner);
    await eventually(async () => expect(await statuses(held, others)).toEqual([200, 200]));
    expect((await ask(owner, 'DELETE', `api-keys/${last.keyId}`)).status).toBe(200);
    await Promise.all([
      owner.service.stop(),
      // Requests during the shard's move wait, and its next owner answers them.
      statuses(held, others).then((found) => expect(found).toEqual([401, 401])),
    ]);
    nodes.splice(nodes.indexOf(owner), 1);
    expect(await statuses(held, others)).toEqual([401, 401]);
    expect(await statuses(admin, others)).toEqual([200, 200]);
  });

  it('show in /health and at /metrics the shards of each', async () => {
    const [first, second] = (await startNodes(2)) as [Node, Node];
    for (const { url, held } of [first, second]) {
      expect(await (await fetch(`${url}/health`)).json()).toMatchObject({
        status: 'ok',
        role: 'active',
        shards: { held: [...held], of: SHARDS },
        checks: { database: 'ok', broker: 'ok', scheduler: 'ok', clock: 'ok' },
      });
      const metrics = await (await fetch(`${url}/metrics`)).text();
      expect(metrics).toContain(`headroom_shards_held ${held.length}`);
      const connectors = 2 * TENANTS.filter((tenantUuid) => held.includes(shardOf(tenantUuid))).length;
      expect(metrics).toContain(`headroom_connectors{link="offline"} ${connectors}\n`);
    }
  });

  it('receive messages of the chargers of their own tenants alone, and answer them', async () => {
    const [first, second] = (await startNodes(2)) as [Node, Node];
    const charger = await connectAsync(broker.url);
    const limited = new Set<string>();
    charger.on('message', (topic) => limited.add(topic));
    const topicOf = (tenantUuid: TenantUuid, last: string) =>
      `ems/v1/${tenantUuid}/quay-1/quay-1-a/c/1/${last}`;
    for (const tenantUuid of TENANTS) await charger.subscribeAsync(topicOf(tenantUuid, 'limit'));
    let heartbeats = 0;
    await eventually(async () => {
      const meter = JSON.stringify({ powerW: 0, hb: ++heartbeats });
      for (const tenantUuid of TENANTS)
        await charger.publishAsync(topicOf(tenantUuid, 'meter'), meter, { qos: 1 });
      expect(limited.size).toBe(TENANTS.length);
    });
    await charger.endAsync();
    for (const { url } of [first, second])
      expect(await (await fetch(`${url}/metrics`)).text()).not.toContain('kind="meter",result="unknown"} ');
  });

  it('carry a stream from the node that owns its tenant', async () => {
    await startNodes(2);
    const [tenantUuid] = TENANTS as [TenantUuid];
    const other = nodes.find((node) => node !== ownerOf(tenantUuid)) as Node;
    const reader = await readEvents(`${other.url}/v1/stream`, { 'x-api-key': apiKeyOf(tenantUuid) });
    expect(reader.status).toBe(200);
    await put(other, tenantUuid, 11);
    await eventually(() => expect(reader.events.length).toBeGreaterThan(0));
    await ownerOf(tenantUuid).service.stop();
    await reader.ended.catch(() => {});
  });

  it('send the events of a tenant to its webhook in order, and go on after its owner stops', async () => {
    const [first] = (await startNodes(2)) as [Node];
    const tenantUuid = TENANTS.find((each) => ownerOf(each) !== first) as TenantUuid;
    const owner = ownerOf(tenantUuid);
    const receiver = await startWebhookReceiver();
    const post = async (path: string, body: object) => {
      const headers = { ...HEADERS, 'x-api-key': apiKeyOf(tenantUuid) };
      const answer = await fetch(`${first.url}/v1/${path}`, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
      });
      expect(answer.status).toBe(201);
    };
    await post('webhooks', { url: receiver.url, types: ['cluster.changed'] });
    const names = Array.from({ length: 60 }, (_, nth) => `Cluster ${nth}`);
    const accepted = () => [...new Set(receiver.accepted().map(({ data }) => data.name))];
    for (const name of names.slice(0, 30)) await post('clusters', { name, locationIds: ['quay-1'] });
    await eventually(() => expect(accepted().length).toBeGreaterThan(5));
    const stopped = owner.service.stop();
    for (const name of names.slice(30)) await post('clusters', { name, locationIds: ['quay-1'] });
    await stopped;
    await eventually(() => expect(accepted()).toEqual(names));
    await receiver.stop();
  });

  it('keep a mute after its owner stops, and end it once', async () => {
    const [first] = (await startNodes(2)) as [Node];
    const tenantUuid = TENANTS.find((each) => ownerOf(each) !== first) as TenantUuid;
    const owner = ownerOf(tenantUuid);
    const headers = { ...HEADERS, 'x-api-key': apiKeyOf(tenantUuid) };
    const read = async (path: string) => (await fetch(`${first.url}/v1/${path}`, { headers })).json();
    const mutes = 'locations/quay-1/alarm-mutes';
    for (const [kind, aheadMs] of [
      ['OFFLINE', 3_600_000],
      ['LIMIT_UNATTAINABLE', 5_000],
    ] as const) {
      const body = JSON.stringify({ kind, until: new Date(Date.now() + aheadMs).toISOString() });
      const answer = await fetch(`${first.url}/v1/${mutes}`, { method: 'POST', headers, body });
      expect(answer.status).toBe(201);
    }
    await owner.service.stop();
    await areShared(first);
    const unmuted = () => read('events?type=alarm.unmuted');
    await eventually(async () =>
      expect(await unmuted()).toMatchObject({
        events: [{ source: 'service', data: { kind: 'LIMIT_UNATTAINABLE' } }],
      }),
    );
    expect(await read(mutes)).toMatchObject({ mutes: [{ kind: 'OFFLINE' }] });
  });

  it('give a node that comes its share, and take over from one that stops, and lose no request', async () => {
    const [first] = (await startNodes(1)) as [Node];
    const refused: string[] = [];
    const written = new Map<TenantUuid, number>();
    let isOver = false;
    let done = 0;
    async function write(tenantUuid: TenantUuid): Promise<void> {
      for (let limitKw = 1; !isOver; limitKw++) {
        const answer = await put(first, tenantUuid, limitKw).catch(() => undefined);
        if (answer?.status === 200) written.set(tenantUuid, limitKw);
        else refused.push(`${answer?.status} ${await answer?.text()}`);
        done++;
      }
    }
    const writing = Promise.all(TENANTS.map(write));
    const goOn = (from = done) => eventually(() => expect(done).toBeGreaterThan(from + 20));
    await goOn();
    const second = await startNode();
    await areShared(first, second);
    await goOn();
    await second.service.stop();
    await areShared(first);
    await goOn();
    isOver = true;
    await writing;
    expect(refused).toEqual([]);
    for (const tenantUuid of TENANTS) expect(await limitOf(first, tenantUuid)).toBe(written.get(tenantUuid));
  });

  it('refuse writes of the earlier owner of a shard, and nothing of its other shards', async () => {
    const [first] = (await startNodes(1)) as [Node];
    const before = [...first.held];
    const second = await startNode();
    await areShared(first, second);
    const lost = TENANTS.find((tenantUuid) => second.held.includes(shardOf(tenantUuid))) as TenantUuid;
    const kept = TENANTS.find((tenantUuid) => first.held.includes(shardOf(tenantUuid))) as TenantUuid;
    expect(before).toEqual(ALL_SHARDS);
    const append = (tenantUuid: TenantUuid) =>
      first.database
        ?.shard(shardOf(tenantUuid))
        .append(tenantUuid, [
          { kind: 'permanentLimit.set', locationId: site('quay-1').locationId, limitKw: 7, atMs: 1 },
        ]);
    await expect(append(lost)).rejects.toBeInstanceOf(StoreUnavailableError);
    await append(kept);
  });

  it('give a node whose clock is off no tenants, and it forwards and reports it', async () => {
    const [first] = (await startNodes(1)) as [Node];
    const { systemClock } = await import('../../src/clock.js');
    const off = await startNode({ clock: { ...systemClock, nowMs: () => systemClock.nowMs() + 5_000 } });
    const [tenantUuid] = TENANTS as [TenantUuid];
    expect((await put(off, tenantUuid, 9)).status).toBe(200);
    const health = await fetch(`${off.url}/health`);
    expect([health.status, await health.json()]).toMatchObject([503, { checks: { clock: 'failing' } }]);
    expect([first.held, off.held]).toEqual([ALL_SHARDS, []]);
  });

  it('leave a shard that one of them cannot begin to another one, which goes on with it', async () => {
    const [first] = (await startNodes(1)) as [Node];
    const broken = shardOf(TENANTS[0] as TenantUuid);
    const unreadable = () => Promise.reject(new Error('a row that this node cannot read'));
    const second = await startNode({}, (database) => ({
      ...database,
      shard: (shard) =>
        shard === broken ? { ...database.shard(shard), loadTenant: unreadable } : database.shard(shard),
    }));
    // The first node owns the shard, which may move only after that node has stopped.
    await areShared(first, second);
    const third = await startNode();
    await areShared(first, second, third);
    await first.service.stop();
    await areShared(second, third);
    expect(third.held).toContain(broken);
    const isTold = ([, text]: readonly [object, string]) => text.includes('other nodes may take it');
    const failures = async () => {
      const text = await (await fetch(`${second.url}/metrics`)).text();
      return Number(/^headroom_shard_failures_total (\d+)/m.exec(text)?.[1]);
    };
    // The names of the nodes decide whether the second one ever got the shard. If so, it released the shard after three
    // attempts.
    expect(await failures()).toBe(second.logged.some(isTold) ? 3 : 0);
    await third.service.stop();
    await eventually(async () => expect(await failures()).toBeGreaterThanOrEqual(3));
    expect(second.logged.some(isTold)).toBe(true);
    const fourth = await startNode();
    await areShared(second, fourth);
    expect(fourth.held).toContain(broken);
    expect((await put(second, TENANTS[0] as TenantUuid, 13)).status).toBe(200);
  });
});
