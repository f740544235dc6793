// The store and the administration on real SQLite files, and faults that only SQLite has.

import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { Knex } from 'knex';
import { afterAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/clock.js';
import { readAlarms } from '../../../src/features/alarms/rows.js';
import { readPowerHistory } from '../../../src/features/power-history/rows.js';
import { createMetrics } from '../../../src/metrics.js';
import { openDatabase } from '../../../src/outbound/knex/connection.js';
import { migrateDatabase } from '../../../src/outbound/knex/database.js';
import { storeOver } from '../../../src/outbound/knex/store.js';
import { StoreUnavailableError } from '../../../src/ports/store.js';
import { describeAdministration } from './administration-contract.js';
import { describeEnforcementRows } from './enforcement-rows-contract.js';
import {
  begin,
  end,
  HARBOUR,
  HARBOUR_TENANT,
  minute,
  openStore,
  provisionAll,
  put,
  QUAY,
  QUAY_TARGET,
  reserve,
} from './harbour.js';
import { describeOwnership } from './ownership-contract.js';
import { createSqliteServer } from './sqlite-server.js';
import { describeStore } from './store-contract.js';

const server = createSqliteServer();
afterAll(() => server.stop());

describe('the store on SQLite', () => describeStore(() => server));
describe('the ownership of an SQLite database', () => describeOwnership(() => server, false));
describe('the rows of enforcement on SQLite', () => describeEnforcementRows(() => server));
describe('the administration on SQLite', () => describeAdministration(() => server));

describe('SQLite', () => {
  it('flushes every commit, enforces foreign keys and writes beside readers', async () => {
    const knex = openDatabase(await server.createDatabase());
    expect(await knex.raw('pragma synchronous')).toEqual([{ synchronous: 2 }]);
    expect(await knex.raw('pragma foreign_keys')).toEqual([{ foreign_keys: 1 }]);
    expect(await knex.raw('pragma journal_mode')).toEqual([{ journal_mode: 'wal' }]);
    await knex.destroy();
  });

  it('creates the directory, and a file that only its owner may read', async () => {
    const file = join(server.directory, 'not', 'yet', 'there.sqlite');
    const { store } = await openStore(`sqlite:${file}`);
    await store.close();
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('runs in memory for as long as the store is open', async () => {
    const { store } = await openStore('sqlite::memory:');
    expect((await store.loadCredentials()).tenants).toEqual([]);
    await store.ping();
    await store.close();
  });

  it('continues to read while another process holds the lock', async () => {
    const databaseUrl = await server.createDatabase();
    const { store } = await openStore(databaseUrl);
    const giveBack = await server.takeAway(databaseUrl);
    await expect(store.ping()).rejects.toBeInstanceOf(StoreUnavailableError);
    expect((await store.loadTenant(HARBOUR)).locations).toEqual([]);
    await giveBack();
    await store.close();
  });

  it('works again after a commit that could not get its lock, if it cannot write beside readers', async () => {
    const databaseUrl = await server.createDatabase();
    await provisionAll(databaseUrl, [HARBOUR_TENANT]);
    const [knex, reader] = [openDatabase(databaseUrl), openDatabase(databaseUrl)];
    await knex.raw('pragma journal_mode = delete');
    const store = storeOver(knex, { clock: systemClock, metrics: createMetrics() });
    await store.append(HARBOUR, [put(QUAY_TARGET, { limitKw: 1 })]);
    await reader.raw('pragma journal_mode = delete');
    await reader.raw('begin');
    await reader('profiles').count();
    await expect(store.append(HARBOUR, [put(QUAY_TARGET, { limitKw: 2 })])).rejects.toMatchObject({
      name: 'StoreUnavailableError',
      isOutcomeUnknown: false,
    });
    await reader.destroy();
    await store.append(HARBOUR, [put(QUAY_TARGET, { limitKw: 3 })]);
    expect((await store.loadTenant(HARBOUR)).profiles).toMatchObject([{ limitKw: 3 }]);
    await store.close();
  });

  it('reads only the rows of enforcement that it needs', async () => {
    const knex = openDatabase(await server.createDatabase());
    await migrateDatabase(knex);
    const store = storeOver(knex, { clock: systemClock, metrics: createMetrics() });
    const asked: { readonly sql: string; readonly bindings: readonly Knex.RawBinding[] }[] = [];
    knex.on('query', ({ sql, bindings }) => asked.push({ sql, bindings: bindings ?? [] }));
    await store.append(HARBOUR, [reserve(), begin('a'), end('a', 2), minute(0)]);
    await store.loadTenant(HARBOUR);
    for (const locationId of [QUAY, undefined]) {
      await store.read((trx) =>
        readAlarms(trx, HARBOUR, { locationId, window: { startsAtMs: 1, endsAtMs: 2 }, count: 9 }),
      );
    }
    await store.read((trx) =>
      readPowerHistory(trx, HARBOUR, QUAY, { startsAtMs: 0, endsAtMs: 60_000 }, 60_000),
    );
    await store.forgetPowerBefore(60_000);
    const statements = asked.filter(({ sql }) => /\b(reservations|alarms|power_minutes)\b/.test(sql));
    expect(statements).toHaveLength(10);
    for (const { sql, bindings } of statements) {
      const plan: { detail: string }[] = await knex.raw(`explain query plan ${sql}`, [...bindings]);
      for (const { detail } of plan) expect(detail).not.toMatch(/^SCAN (?!json_each|locations)|ORDER BY/);
    }
    await store.close();
  });

  it('answers StoreUnavailableError on a full disk and loses no acknowledged write', async () => {
    const databaseUrl = await server.createDatabase();
    await provisionAll(databaseUrl, [HARBOUR_TENANT]);
    const knex = openDatabase(databaseUrl);
    const store = storeOver(knex, { clock: systemClock, metrics: createMetrics() });
    await knex.raw('pragma max_page_count = 60');
    let acknowledged = 0;
    const fill = async () => {
      for (;;) {
        await store.append(HARBOUR, [put(QUAY_TARGET, { limitKw: acknowledged + 1, atMs: acknowledged })]);
        acknowledged += 1;
      }
    };
    await expect(fill()).rejects.toBeInstanceOf(StoreUnavailableError);
    expect(acknowledged).toBeGreaterThan(0);
    expect((await store.loadTenant(HARBOUR)).profiles).toMatchObject([{ limitKw: acknowledged }]);
    await knex.raw('pragma max_page_count = 100000');
    await store.append(HARBOUR, [put(QUAY_TARGET, { limitKw: 12345 })]);
    expect((await store.loadTenant(HARBOUR)).profiles).toMatchObject([{ limitKw: 12345 }]);
    await store.close();
  });
});
