// `headroom backup` of a live database makes a complete copy, or none.

import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { readProfileHistory } from '../../../src/features/profiles/rows.js';
import { backupDatabase } from '../../../src/outbound/knex/backup.js';
import { AdministrationError } from '../../../src/ports/administration.js';
import {
  ALL_TIME,
  begin,
  everything,
  HARBOUR,
  HARBOUR_TENANT,
  minute,
  openStore,
  provisionAll,
  put,
  QUAY_TARGET,
  reserve,
} from './harbour.js';
import { createSqliteServer } from './sqlite-server.js';

const server = createSqliteServer();
afterAll(() => server.stop());

const inDirectory = (name: string) => join(server.directory, name);

it('a backup copies all writes acknowledged before its start, completely, while writes go on', async () => {
  const databaseUrl = await server.createDatabase();
  await provisionAll(databaseUrl, [HARBOUR_TENANT]);
  const { store } = await openStore(databaseUrl);
  const write = (n: number) => store.append(HARBOUR, [put(QUAY_TARGET, { limitKw: n, atMs: n })]);
  let written = 0;
  while (written < 200) await write(++written);
  const before = written;
  let isDone = false;
  const backup = backupDatabase(databaseUrl, inDirectory('live.backup')).finally(() => {
    isDone = true;
  });
  while (!isDone) await write(++written);
  await backup;
  await store.close();

  const { store: copy } = await openStore(`sqlite:${inDirectory('live.backup')}`);
  const history = await copy.read((trx) => readProfileHistory(trx, HARBOUR, QUAY_TARGET, ALL_TIME));
  expect(history.length).toBeGreaterThanOrEqual(before);
  expect(history.map(({ limitKw }) => limitKw)).toEqual(history.map((_, i) => i + 1));
  expect((await copy.loadTenant(HARBOUR)).profiles).toMatchObject([{ limitKw: history.length }]);
  await copy.close();
});

it('a backup copies everything, is readable by its owner only, and leaves no temporary file', async () => {
  const databaseUrl = await server.createDatabase();
  await provisionAll(databaseUrl, [HARBOUR_TENANT]);
  const { store } = await openStore(databaseUrl);
  await store.append(HARBOUR, [put(QUAY_TARGET), reserve(), begin('a'), minute(0)]);
  const file = inDirectory("it's a.backup");
  await backupDatabase(databaseUrl, file);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readdirSync(server.directory).filter((name) => name.includes('unfinished'))).toEqual([]);
  const { store: copy } = await openStore(`sqlite:${file}`);
  expect(await everything(copy)).toEqual(await everything(store));
  await store.close();
  await copy.close();
});

it('a backup refuses a file that exists and leaves it unchanged', async () => {
  const databaseUrl = await server.createDatabase();
  await provisionAll(databaseUrl, [HARBOUR_TENANT]);
  const file = inDirectory('precious');
  writeFileSync(file, 'precious');
  await expect(backupDatabase(databaseUrl, file)).rejects.toBeInstanceOf(AdministrationError);
  expect(statSync(file).size).toBe('precious'.length);
});

it('one of two backups to the same file succeeds', async () => {
  const databaseUrl = await server.createDatabase();
  await provisionAll(databaseUrl, [HARBOUR_TENANT]);
  const file = inDirectory('contested');
  const outcomes = await Promise.allSettled([
    backupDatabase(databaseUrl, file),
    backupDatabase(databaseUrl, file),
  ]);
  expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
});

it('a backup creates no database if there is none', async () => {
  const nothing = inDirectory('nothing.sqlite');
  await expect(backupDatabase(`sqlite:${nothing}`, inDirectory('copy'))).rejects.toThrow(
    'there is no database file',
  );
  await expect(backupDatabase('sqlite::memory:', inDirectory('copy'))).rejects.toThrow(
    'there is no database file',
  );
  expect(readdirSync(server.directory)).not.toContain('nothing.sqlite');
});

it('a backup of PostgreSQL is refused with a pointer to pg_dump', async () => {
  await expect(backupDatabase('postgres://localhost/headroom', inDirectory('copy'))).rejects.toThrow(
    'pg_dump',
  );
});
