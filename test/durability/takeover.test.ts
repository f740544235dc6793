// Two real processes on one PostgreSQL. The newer one takes over from any state of the older one, without losing an
// acknowledged write.

import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { LocationId } from '../../machines/values/ids.js';
import { loadConfig } from '../../src/config.js';
import { readPermanentLimits } from '../../src/features/profiles/rows.js';
import { type Running, serve, start, temporaryDirectory } from '../cli/headroom.js';
import { eventually } from '../eventually.js';
import { needing } from '../needs.js';
import type { DatabaseServer } from '../outbound/knex/database-server.js';
import { missingPostgres, startPostgresServer } from '../outbound/knex/postgres-server.js';
import { apiKeyOf, HARBOUR, provision, site, tenantWith } from '../service/running-service.js';
import { withRows } from './observed.js';

const WRITERS = 8;

describe('A newer process on PostgreSQL', needing(missingPostgres()), () => {
  let server: DatabaseServer;
  beforeAll(async () => {
    server = await startPostgresServer();
  });
  afterAll(() => server?.stop());

  async function newSite() {
    const databaseUrl = await server.createDatabase();
    const environment = { HEADROOM_DATABASE_URL: databaseUrl, HEADROOM_LOG_LEVEL: 'info' };
    await provision(loadConfig({}, environment), tenantWith(HARBOUR, [site('quay-1')]));
    return { databaseUrl, start: () => serve(temporaryDirectory(), environment) };
  }

  it('takes over from a process frozen in the middle of a commit, which ends once it resumes', async () => {
    const { databaseUrl, start } = await newSite();
    const older = await start();
    const writing = writeUntilSilence(older.httpUrl);
    await eventually(async () => expect(await setLimit(older.httpUrl, 1)).toBe(200));
    await freezeInTransaction(older.process.pid ?? 0, databaseUrl);
    const newer = await start();
    older.process.kill('SIGCONT');
    expect((await older.finished).code).toBe(1);
    await expectAllWritten(databaseUrl, await writing);
    expect(await setLimit(newer.httpUrl, 7)).toBe(200);
    // The newer process did more than wait until the server dropped the frozen one.
    expect((await newer.stop()).stderr).toContain('ended the sessions of the previous owner');
  });

  it('takes over from a process that was killed', async () => {
    const { databaseUrl, start } = await newSite();
    const older = await start();
    const writing = writeUntilSilence(older.httpUrl);
    await eventually(async () => expect(await setLimit(older.httpUrl, 1)).toBe(200));
    await older.stop('SIGKILL');
    const newer = await start();
    await expectAllWritten(databaseUrl, await writing);
    expect(await setLimit(newer.httpUrl, 7)).toBe(200);
  });
});

describe('nodes that stand by for each other', needing(missingPostgres()), () => {
  let server: DatabaseServer;
  beforeAll(async () => {
    server = await startPostgresServer();
  });
  afterAll(() => server?.stop());

  /** Starts two processes that share keys. The first one is active. */
  async function twoNodes() {
    const databaseUrl = await server.createDatabase();
    await provision(
      loadConfig({}, { HEADROOM_DATABASE_URL: databaseUrl }),
      tenantWith(HARBOUR, [site('quay-1')]),
    );
    const dataDir = temporaryDirectory();
    const environment = {
      HEADROOM_DATABASE_URL: databaseUrl,
      HEADROOM_LOG_LEVEL: 'info',
      HEADROOM_STANDBY: 'true',
      HEADROOM_DATA_DIR: dataDir,
      HEADROOM_HTTP_PORT: '0',
      HEADROOM_MQTT_PORT: '0',
    };
    const first = start(['serve'], environment);
    const { httpUrl: firstUrl } = await told(first, 'ready');
    const second = start(['serve'], environment);
    const { httpUrl: secondUrl } = await told(second, 'standby');
    return { databaseUrl, first, firstUrl, second, secondUrl };
  }

  it('take over from a node frozen in the middle of a commit, which stands by once it resumes', async () => {
    const { databaseUrl, first, firstUrl, second, secondUrl } = await twoNodes();
    const writing = writeUntilSilence(firstUrl);
    await eventually(async () => expect(await setLimit(secondUrl, 1)).toBe(200));
    await freezeInTransaction(first.process.pid ?? 0, databaseUrl);
    await told(second, 'ready');
    await takesLimit(secondUrl, 7);
    first.process.kill('SIGCONT');
    await becomes(firstUrl, 'standby');
    // The first process now forwards requests, and no acknowledged write is missing.
    await takesLimit(firstUrl, 8);
    // It did more than wait until the server dropped the frozen one.
    expect((await second.stop('SIGKILL')).stderr).toContain('ended the sessions of the previous owner');
    await becomes(firstUrl, 'active');
    await takesLimit(firstUrl, 9);
    expect((await first.stop()).code).toBe(0);
    await expectAllWritten(databaseUrl, await writing);
  });
});

/** The fields of the process's log line for `event`. */
async function told(node: Running, event: string): Promise<{ readonly httpUrl: string }> {
  return JSON.parse(await node.line((line) => line.includes(`"event":"${event}"`)));
}

function becomes(httpUrl: string, role: string): Promise<void> {
  return eventually(async () => {
    const health = await (await fetch(`${httpUrl}/health`)).json();
    expect(health).toMatchObject({ role });
  });
}

/** A client asks again after a 503, which a slow disk may cause at any time. */
function takesLimit(httpUrl: string, limitKw: number): Promise<void> {
  return eventually(async () => expect(await setLimit(httpUrl, limitKw)).toBe(200));
}

async function setLimit(httpUrl: string, limitKw: number): Promise<number | undefined> {
  const answer = await fetch(`${httpUrl}/v1/locations/quay-1/limit`, {
    method: 'PUT',
    headers: { 'x-api-key': apiKeyOf(HARBOUR), 'content-type': 'application/json' },
    body: JSON.stringify({ limitKw }),
  }).catch(() => undefined);
  return answer?.status;
}

/**
 * Several writers set limits, each with a number of its own. Resolves to the acknowledged limits after the answers
 * stop.
 */
async function writeUntilSilence(httpUrl: string): Promise<readonly number[]> {
  const acknowledged: number[] = [];
  let lastKw = 100;
  async function write(): Promise<void> {
    for (;;) {
      const limitKw = ++lastKw;
      const status = await setLimit(httpUrl, limitKw);
      if (status === undefined) return;
      if (status === 200) acknowledged.push(limitKw);
    }
  }
  await Promise.all(Array.from({ length: WRITERS }, write));
  return acknowledged;
}

/** Stops the process while it holds locks in the database. */
async function freezeInTransaction(pid: number, databaseUrl: string): Promise<void> {
  const client = new pg.Client(databaseUrl);
  await client.connect();
  onTestFinished(() => client.end());
  await eventually(async () => {
    process.kill(pid, 'SIGSTOP');
    const { rowCount } = await client.query(
      `select pid from pg_stat_activity where datname = current_database()
       and state = 'idle in transaction' and backend_xid is not null`,
    );
    if (rowCount === 0) process.kill(pid, 'SIGCONT');
    expect(rowCount).toBe(1);
  });
}

async function expectAllWritten(databaseUrl: string, limitsKw: readonly number[]): Promise<void> {
  expect(limitsKw.length).toBeGreaterThan(0);
  const history = await withRows(databaseUrl, (store) =>
    store.read((trx) => readPermanentLimits(trx, HARBOUR, 'quay-1' as LocationId)),
  );
  const written = new Set(history.map(({ limitKw }) => limitKw));
  expect(limitsKw.filter((limitKw) => !written.has(limitKw))).toEqual([]);
}
