// Several nodes on one PostgreSQL: one runs, the others stand by, forward requests, and take over.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ConfigError, loadConfig } from '../../src/config.js';
import { createMetrics } from '../../src/metrics.js';
import type { Log } from '../../src/ports/log.js';
import { type Seams, Service } from '../../src/service.js';
import { eventually } from '../eventually.js';
import { readEvents } from '../inbound/http/event-reader.js';
import { needing } from '../needs.js';
import type { DatabaseServer } from '../outbound/knex/database-server.js';
import { missingPostgres, startPostgresServer } from '../outbound/knex/postgres-server.js';
import { profile } from './profiles.js';
import { apiKeyOf, HARBOUR, provision, silentLog, site, tenantWith } from './running-service.js';

const KEY = { 'x-api-key': apiKeyOf(HARBOUR) };
const JSON_KEY = { ...KEY, 'content-type': 'application/json' };

interface Node {
  readonly url: string;
  readonly roles: readonly string[];
  readonly logged: readonly (readonly [object, string])[];
  stop(): Promise<void>;
}

describe('settings of a node', () => {
  it.each([
    [{ HEADROOM_STANDBY: 'true' }, /HEADROOM_STANDBY: several nodes need a PostgreSQL/],
    [{ HEADROOM_STANDBY: 'perhaps' }, /HEADROOM_STANDBY: "perhaps" is not valid/],
    [
      { HEADROOM_NODE_URL: 'http://a:8080' },
      /HEADROOM_NODE_URL: has no effect without HEADROOM_STANDBY=true/,
    ],
    [
      { HEADROOM_STANDBY: 'true', HEADROOM_DATABASE_URL: 'postgres://a/b', HEADROOM_HTTP_HOST: '0.0.0.0' },
      /HEADROOM_NODE_URL: name the address at which other nodes reach this one/,
    ],
    [
      { HEADROOM_STANDBY: 'true', HEADROOM_DATABASE_URL: 'postgres://a/b', HEADROOM_NODE_URL: 'a:8080' },
      /HEADROOM_NODE_URL: "a:8080" is not valid: must be http/,
    ],
    [{ HEADROOM_OWNER_TTL_S: '0' }, /HEADROOM_OWNER_TTL_S: "0" is not valid/],
  ])('%j are refused in one line', (environment, line) => {
    expect(() => loadConfig({}, environment)).toThrow(ConfigError);
    expect(() => loadConfig({}, environment)).toThrow(line);
  });
});

describe('several nodes', needing(missingPostgres()), () => {
  let server: DatabaseServer;
  let databaseUrl: string;
  let dataDir: string;
  const nodes: Node[] = [];
  beforeAll(async () => {
    server = await startPostgresServer();
    // The directory of the token keys, which nodes share.
    dataDir = mkdtempSync(join(tmpdir(), 'headroom-nodes-'));
  });
  afterEach(async () => {
    for (const node of nodes.splice(0)) await node.stop();
  });
  afterAll(async () => {
    await server?.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  async function startNode(
    environment: Readonly<Record<string, string>> = {},
    seams: Seams = {},
  ): Promise<Node> {
    const config = loadConfig(
      {},
      {
        HEADROOM_HTTP_PORT: '0',
        HEADROOM_MQTT_PORT: '0',
        HEADROOM_DATA_DIR: dataDir,
        HEADROOM_DATABASE_URL: databaseUrl,
        HEADROOM_STANDBY: 'true',
        ...environment,
      },
    );
    const [roles, logged]: [string[], [object, string][]] = [[], []];
    const log: Log = { ...silentLog, warn: (fields, text) => void logged.push([fields, text]) };
    const service = new Service(config, {
      log,
      metrics: createMetrics(),
      ...seams,
      onRole: (role) => void roles.push(role),
    });
    const { httpUrl: url } = await service.start();
    const node = { url, roles, logged, stop: () => service.stop() };
    nodes.push(node);
    return node;
  }

  /** The first runs, the second stands by. */
  async function twoNodes(environment = {}) {
    databaseUrl = await server.createDatabase();
    await provision(
      loadConfig({}, { HEADROOM_DATABASE_URL: databaseUrl }),
      tenantWith(HARBOUR, [site('quay-1')]),
    );
    const first = await startNode(environment);
    await becomes(first, 'active');
    return [first, await startNode(environment)] as const;
  }

  function becomes({ roles }: Node, role: string): Promise<void> {
    return eventually(() => expect(roles.at(-1)).toBe(role));
  }

  it('answer alike: one by itself, the other by asking the one that runs', async () => {
    const [first, second] = await twoNodes();
    for (const [node, limitKw] of [
      [first, 21],
      [second, 22],
    ] as const) {
      const body = JSON.stringify(profile({ limitKw }));
      const written = await fetch(`${node.url}/v1/locations/quay-1/schedules`, {
        method: 'POST',
        headers: JSON_KEY,
        body,
      });
      expect(written.status).toBe(200);
      expect(written.headers.get('x-request-id')).not.toBeNull();
      for (const { url } of [first, second]) {
        const limits = await fetch(`${url}/v1/locations/quay-1/limits`, { headers: KEY });
        expect(await limits.json()).toMatchObject({ effectiveLimitKw: limitKw });
      }
    }
    const foreign = await fetch(`${second.url}/v1/locations/quay-1/limits`, {
      headers: { 'x-api-key': 'no' },
    });
    expect([foreign.status, await foreign.json()]).toMatchObject([401, { error: { code: 'UNAUTHORIZED' } }]);
    const wrong = await fetch(`${second.url}/v1/locations/quay-1/limit`, {
      method: 'PUT',
      headers: JSON_KEY,
      body: '{',
    });
    expect(wrong.status).toBe(400);
    const huge = JSON.stringify({ name: 'x'.repeat(500_000) });
    const refused = await fetch(`${second.url}/v1/clusters`, {
      method: 'POST',
      headers: JSON_KEY,
      body: huge,
    });
    expect(refused.status).toBe(413);
    const page = await fetch(second.url);
    expect(await page.text()).toBe(await (await fetch(first.url)).text());
  });

  it('show in /health and at /metrics the active one', async () => {
    const [first, second] = await twoNodes();
    const healthOf = async ({ url }: Node) => (await fetch(`${url}/health`)).json();
    expect(await healthOf(first)).toMatchObject({
      status: 'ok',
      role: 'active',
      checks: { database: 'ok', broker: 'ok' },
    });
    expect(await healthOf(second)).toMatchObject({
      status: 'ok',
      role: 'standby',
      checks: { database: 'ok', active: 'ok', clock: 'ok' },
    });
    const metricsOf = async ({ url }: Node) => (await fetch(`${url}/metrics`)).text();
    expect(await metricsOf(first)).toContain('headroom_node_active 1');
    expect(await metricsOf(second)).toContain('headroom_node_active 0');
    // Only the running node counts connectors; a former one no longer does.
    const connectors = 'headroom_connectors{link="offline"} ';
    expect(await metricsOf(first)).toContain(`${connectors}2`);
    await first.stop();
    await becomes(second, 'active');
    expect(await metricsOf(second)).toContain(`${connectors}2`);
  });

  it('carry a stream through the one that stands by, and end it with the one that runs', async () => {
    const [first, second] = await twoNodes();
    const reader = await readEvents(`${second.url}/v1/stream`, KEY);
    expect(reader.status).toBe(200);
    const body = JSON.stringify(profile({ limitKw: 9 }));
    await fetch(`${first.url}/v1/locations/quay-1/schedules`, { method: 'POST', headers: JSON_KEY, body });
    await eventually(() => expect(reader.events.length).toBeGreaterThan(0));
    await first.stop();
    await reader.ended.catch(() => {});
    await becomes(second, 'active');
  });

  it('hand over when the one that runs is stopped, and lose no request', async () => {
    const [first, second] = await twoNodes();
    const statuses: (number | undefined)[] = [];
    const written: number[] = [];
    let isOver = false;
    async function write(from: number): Promise<void> {
      for (let limitKw = from; !isOver; limitKw++) {
        const answer = await fetch(`${second.url}/v1/locations/quay-1/limit`, {
          method: 'PUT',
          headers: JSON_KEY,
          body: JSON.stringify({ limitKw }),
        }).catch(() => undefined);
        statuses.push(answer?.status);
        if (answer?.status === 200) written.push(limitKw);
      }
    }
    const writing = Promise.all([1_000, 100_000, 200_000, 300_000].map(write));
    await eventually(() => expect(written.length).toBeGreaterThan(20));
    await first.stop();
    await becomes(second, 'active');
    const sofar = written.length;
    await eventually(() => expect(written.length).toBeGreaterThan(sofar + 20));
    isOver = true;
    await writing;
    expect(statuses.filter((status) => status !== 200)).toEqual([]);
    const history = await fetch(
      `${second.url}/v1/locations/quay-1/history?from=2020-01-01T00:00:00Z&to=2090-01-01T00:00:00Z&limit=1`,
      { headers: KEY },
    );
    expect(history.status).toBeLessThan(500);
    const limits = await fetch(`${second.url}/v1/locations/quay-1/limits`, { headers: KEY });
    expect(written).toContain(((await limits.json()) as { permanentLimitKw: number }).permanentLimitKw);
  });

  it('count failed sign-ins by the address of the client, and trust no client that names another', async () => {
    const [first, second] = await twoNodes({ HEADROOM_TRUST_PROXY: '1' });
    const guess = (url: string, headers: Record<string, string>) =>
      fetch(`${url}/v1/clusters`, { headers: { 'x-api-key': 'wrong', ...headers } });
    await guess(second.url, { 'x-forwarded-for': '203.0.113.7' });
    await guess(first.url, { 'x-headroom-forwarded': '203.0.113.8', 'x-forwarded-for': '203.0.113.9' });
    const failed = first.logged.filter(([, text]) => text === 'sign-in failed');
    expect(failed.map(([fields]) => Reflect.get(fields, 'address'))).toEqual(['203.0.113.7', '203.0.113.9']);
  });

  it('send a request over no more than one of them', async () => {
    const [, second] = await twoNodes();
    const answer = await fetch(`${second.url}/v1/clusters`, {
      headers: { ...KEY, 'x-headroom-forwarded': 'a' },
    });
    expect(answer.status).toBe(503);
    expect(answer.headers.get('retry-after')).toBe('1');
    expect(await answer.json()).toMatchObject({ error: { code: 'SERVICE_UNAVAILABLE' } });
  });

  it('read their rows while they stand by, so that a takeover takes less time', async () => {
    await twoNodes();
    const readings: string[] = [];
    await startNode(
      {},
      {
        wrapStore: (store) => ({
          ...store,
          glanceAtTenant: (tenantUuid) => {
            readings.push(tenantUuid);
            return store.glanceAtTenant(tenantUuid);
          },
        }),
      },
    );
    await eventually(() => expect(readings).toEqual([HARBOUR, HARBOUR, HARBOUR]));
  });

  it('go on with one that could not run at first, as its port was taken', async () => {
    const [first, second] = await twoNodes();
    const mqttPort = String(new URL(second.url).port);
    const third = await startNode({ HEADROOM_MQTT_PORT: mqttPort });
    await second.stop();
    await first.stop();
    await becomes(third, 'active');
  });
});
