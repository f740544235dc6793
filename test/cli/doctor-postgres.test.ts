// `headroom doctor` on a PostgreSQL: its owner, its clock, and settings that lose writes.
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { judgeRoundTrip, judgeServer } from '../../cli/doctor/checkup.js';
import { systemClock } from '../../src/clock.js';
import { createMetrics } from '../../src/metrics.js';
import { migrate } from '../../src/outbound/knex/database.js';
import { createStore } from '../../src/outbound/knex/store.js';
import type { Store } from '../../src/ports/store.js';
import { needing } from '../needs.js';
import type { DatabaseServer } from '../outbound/knex/database-server.js';
import { silentLog } from '../outbound/knex/harbour.js';
import { missingPostgres, startPostgresServer } from '../outbound/knex/postgres-server.js';
import { findingsOf, GOOD_HOST, unwell } from './doctor-rig.js';
import { temporaryDirectory, writeFile } from './headroom.js';

const KEYS = `{"keys":[{"kty":"EC","crv":"P-256","x":"","y":"","d":""}]}`;

describe('headroom doctor on PostgreSQL', needing(missingPostgres()), () => {
  let server: DatabaseServer;
  beforeAll(async () => {
    // Settings of an ordinary server: without fsync, doctor reports that it loses writes.
    server = await startPostgresServer([]);
  });
  afterAll(() => server.stop());

  /** Findings about owner and database. */
  async function look(databaseUrl: string, standby: 'true' | 'false', aheadMs = 0) {
    const dataDir = temporaryDirectory();
    const host = { clock: { ...GOOD_HOST.clock, nowMs: () => systemClock.nowMs() + aheadMs } };
    const tokenKeys = writeFile(dataDir, 'keys.json', KEYS);
    const found = await findingsOf({ dataDir, databaseUrl, standby, tokenKeys }, { host });
    return found.filter(({ check }) => ['database', 'owner'].includes(check));
  }

  async function node(databaseUrl: string, leaseMs: number | undefined): Promise<Store> {
    const store = await createStore({
      databaseUrl,
      clock: systemClock,
      log: silentLog,
      metrics: createMetrics(),
      node: { nodeId: 'a', url: () => 'http://node-1.example', leaseMs },
    });
    onTestFinished(() => store.close());
    await store.ownership.claim();
    return store;
  }

  it('creates nothing in an empty database', async () => {
    const databaseUrl = await server.createDatabase();
    const none = { check: 'database', status: 'ok', message: 'none yet: the first start makes it' };
    expect(await look(databaseUrl, 'false')).toContainEqual(none);
    expect(await look(databaseUrl, 'false')).toContainEqual(none);
    await migrate(databaseUrl);
    expect(unwell(await look(databaseUrl, 'false'))).toEqual([]);
  });

  it('shows the node that owns the database, and warns of a service without standby', async () => {
    const databaseUrl = await server.createDatabase();
    const store = await node(databaseUrl, 600_000);
    const found = await look(databaseUrl, 'true');
    expect(unwell(found)).toEqual([]);
    expect(found.map(({ message }) => message)).toContain('term 1, http://node-1.example runs on it');
    expect(unwell(await look(databaseUrl, 'false'))).toEqual([
      expect.stringMatching(/^warn owner: term 1: http:\/\/node-1\.example runs on it, with standby nodes$/),
    ]);
    await store.ownership.release();
    expect((await look(databaseUrl, 'true')).map(({ message }) => message)).toContain(
      'term 1, no service runs on it',
    );
  });

  it('warns of an owner whose lease has ended, and of an owner without a lease', async () => {
    const gone = await server.createDatabase();
    await node(gone, 1);
    expect(unwell(await look(gone, 'true'))).toEqual([
      expect.stringMatching(/^warn owner: term 1: the lease of http:\/\/node-1\.example ended \d+ s ago/),
    ]);
    const alone = await server.createDatabase();
    await node(alone, undefined);
    expect(unwell(await look(alone, 'true'))).toEqual([
      'warn owner: term 1: a service without HEADROOM_STANDBY runs on it',
    ]);
    expect((await look(alone, 'false')).map(({ message }) => message)).toContain(
      'term 1, a service runs on it',
    );
  });

  it('reports a clock of the database that differs by 5 s', async () => {
    const databaseUrl = await server.createDatabase();
    await node(databaseUrl, 600_000);
    expect(unwell(await look(databaseUrl, 'true', 5_000))).toEqual([
      expect.stringMatching(
        /^fail owner: the database's clock is [45]\.\d s behind: this node would not take over$/,
      ),
    ]);
    expect(unwell(await look(databaseUrl, 'true', -5_000))).toEqual([
      expect.stringMatching(
        /^fail owner: the database's clock is [45]\.\d s ahead: this node would not take over$/,
      ),
    ]);
    expect(unwell(await look(databaseUrl, 'true', 1_000))).toEqual([]);
  });
});

it('headroom doctor reports a server that may lose acknowledged writes, is a replica, or answers slowly', () => {
  const good = { isReplica: false, flushes: true, asynchronousReplicas: 0 };
  expect(judgeServer(good)).toMatchObject([{ status: 'ok' }]);
  expect(judgeServer({ ...good, flushes: false })).toMatchObject([{ status: 'fail' }]);
  expect(judgeServer({ ...good, isReplica: true })).toMatchObject([{ status: 'fail' }]);
  expect(judgeServer({ ...good, asynchronousReplicas: 1 })).toMatchObject([{ status: 'warn' }]);
  expect(judgeRoundTrip(3)).toMatchObject({ status: 'ok' });
  expect(judgeRoundTrip(40)).toMatchObject({ status: 'warn' });
});
