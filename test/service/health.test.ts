// /health reports whether the database takes writes, and not only whether it answers.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createVirtualClock } from '../../sim/virtual-clock.js';
import { databaseUrlOf } from '../../src/config.js';
import { createHealth } from '../../src/health.js';
import { openDatabase } from '../../src/outbound/knex/connection.js';
import type { Store } from '../../src/ports/store.js';
import { eventually } from '../eventually.js';
import { needing } from '../needs.js';
import { missingPostgres, startPostgresServer } from '../outbound/knex/postgres-server.js';
import { createSqliteServer } from '../outbound/knex/sqlite-server.js';
import { refusalOf } from './answers.js';
import { profile } from './profiles.js';
import { HARBOUR, type RunningService, runService, site, tenantWith } from './running-service.js';

const TENANTS = [tenantWith(HARBOUR, [site('quay-1')])];

let service: RunningService | undefined;
afterEach(async () => {
  await service?.stop();
  service = undefined;
});

/** Resolves when /health reports this state; nobody writes meanwhile. */
async function becomes(database: 'ok' | 'failing'): Promise<void> {
  const [status, code] = database === 'ok' ? ['ok', 200] : ['degraded', 503];
  await eventually(async () => {
    const answer = await service?.send('GET', '/health');
    expect(answer).toMatchObject({ status: code, body: { status, checks: { database } } });
  });
}

async function expectNoWrites(): Promise<void> {
  const answer = await service?.call('POST', '/locations/quay-1/schedules', profile());
  expect(answer && refusalOf(answer, 'SERVICE_UNAVAILABLE')).toBeDefined();
}

describe('the database in /health', () => {
  it('fails while another process has SQLite locked, and is ok again by itself', async () => {
    service = await runService(TENANTS);
    await becomes('ok');
    const server = createSqliteServer();
    onTestFinished(() => server.stop());
    const giveBack = await server.takeAway(databaseUrlOf(service.config));
    await becomes('failing');
    await giveBack();
    await becomes('ok');
  });
});

describe('a disk that is full', () => {
  const directory = mkdtempSync(join(tmpdir(), 'headroom-full-disk-'));
  let isMounted = false;
  beforeEach(() => {
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'headroom-test', directory], { stdio: 'pipe' });
      isMounted = true;
    } catch {
      isMounted = false;
    }
  });
  afterEach(async () => {
    await service?.stop();
    service = undefined;
    if (isMounted) execFileSync('umount', ['-l', directory]);
    rmSync(directory, { recursive: true, force: true });
  });

  it('shows in /health though nobody writes, and no longer once there is room', async ({ skip }) => {
    skip(!isMounted, 'a small disk cannot be mounted here');
    service = await runService(TENANTS, {}, { HEADROOM_DATA_DIR: join(directory, 'data') });
    await becomes('ok');
    const filler = join(directory, 'filler');
    expect(() => writeFileSync(filler, Buffer.alloc(8_000_000))).toThrow('ENOSPC');
    await becomes('failing');
    await expectNoWrites();
    rmSync(filler);
    await becomes('ok');
    const answer = await service.call('POST', '/locations/quay-1/schedules', profile());
    expect(answer.status).toBe(200);
  });
});

describe('PostgreSQL in /health', needing(missingPostgres()), () => {
  it('fails while it is read-only or gone, and is ok again by itself', async () => {
    const server = await startPostgresServer();
    const databaseUrl = await server.createDatabase();
    const name = new URL(databaseUrl).pathname.slice(1);
    service = await runService(TENANTS, {}, { HEADROOM_DATABASE_URL: databaseUrl });
    await becomes('ok');

    const administration = openDatabase(databaseUrl);
    const setReadOnly = async (value: 'on' | 'off') => {
      await administration.raw('set session characteristics as transaction read write');
      await administration.raw(`alter database ${name} set default_transaction_read_only = ${value}`);
      await administration.raw(
        'select pg_terminate_backend(pid) from pg_stat_activity where datname = ? and pid <> pg_backend_pid()',
        [name],
      );
    };
    await setReadOnly('on');
    await becomes('failing');
    await expectNoWrites();
    await setReadOnly('off');
    await becomes('ok');
    await administration.destroy();

    const giveBack = await server.takeAway(databaseUrl);
    await becomes('failing');
    await giveBack();
    await becomes('ok');
    await service.stop();
    service = undefined;
    await server.stop();
  });
});

describe('a probe that comes often', () => {
  const clock = createVirtualClock(0);
  const asked: { resolve: () => void; reject: (error: Error) => void }[] = [];
  const store: Pick<Store, 'ping'> = {
    ping: () => new Promise((resolve, reject) => asked.push({ resolve, reject })),
  };
  const health = createHealth({
    clock,
    store,
    overdueMs: () => 0,
    version: '1',
    broker: { isHealthy: () => true },
  });
  const database = async (report: ReturnType<typeof health>) => (await report).checks.database;

  it('has one write a second under way at most, and shows "failing" after one that takes long', async () => {
    const reports = Array.from({ length: 50 }, () => health());
    expect(asked).toHaveLength(1);
    clock.advance(1_500);
    expect(new Set(await Promise.all(reports.map(database)))).toEqual(new Set(['failing']));
    const waiting = health();
    expect(asked).toHaveLength(1);
    asked[0]?.resolve();
    expect(await database(waiting)).toBe('ok');
    const next = health();
    expect(asked).toHaveLength(2);
    asked[1]?.reject(new Error('away'));
    expect(await database(next)).toBe('failing');
    expect(await database(health())).toBe('failing');
    expect(asked).toHaveLength(2);
  });
});
