// `headroom restore`: its checks, the files that it replaces, and the files that stay unchanged.
import { copyFileSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import createKnex from 'knex';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { backupDatabase } from '../../../src/outbound/knex/backup.js';
import { openDatabase } from '../../../src/outbound/knex/connection.js';
import { markFileOf } from '../../../src/outbound/knex/database-files.js';
import { restoreDatabase } from '../../../src/outbound/knex/restore.js';
import { AdministrationError } from '../../../src/ports/administration.js';
import { DatabaseLostError, StoreUnavailableError } from '../../../src/ports/store.js';
import { needing } from '../../needs.js';
import { HARBOUR, HARBOUR_TENANT, openStore, provisionAll, put, QUAY_TARGET, reserve } from './harbour.js';
import { missingPostgres, startPostgresServer } from './postgres-server.js';
import { createSqliteServer } from './sqlite-server.js';

const server = createSqliteServer();
afterAll(() => server.stop());

let databaseUrl: string;
let file: string;
let backup: string;
let names = 0;
const inDirectory = (name: string) => join(server.directory, name);

beforeEach(async () => {
  databaseUrl = await server.createDatabase();
  file = databaseUrl.slice('sqlite:'.length);
  backup = inDirectory(`backup-${++names}`);
  await provisionAll(databaseUrl, [HARBOUR_TENANT]);
  await write(1);
  await backupDatabase(databaseUrl, backup);
});

/** Starts a service that writes one limit, and stops it. */
async function write(limitKw: number): Promise<number> {
  const { store } = await openStore(databaseUrl);
  const epoch = await store.ownership.claim();
  await store.append(HARBOUR, [put(QUAY_TARGET, { limitKw })]);
  await store.close();
  return epoch;
}

async function limitsOf(url: string): Promise<readonly number[]> {
  const { store } = await openStore(url);
  const { profiles } = await store.loadTenant(HARBOUR);
  await store.close();
  return profiles.map(({ limitKw }) => limitKw);
}

const restore = (over: { backup?: string | undefined; isDryRun?: boolean } = {}) =>
  restoreDatabase(databaseUrl, { backup, isDryRun: false, stamp: 'then', ...over });
const filesBeside = () => readdirSync(server.directory).filter((name) => inDirectory(name).startsWith(file));

describe('A restored backup', () => {
  it('replaces the database, which is kept, under an ownership term above all earlier ones', async () => {
    let epoch = await write(2);
    epoch = await write(3);
    const restored = await restore();
    expect(restored).toMatchObject({ replaced: `${file}.replaced-then`, tenants: 1, profiles: 1 });
    expect(restored.epoch.after).toBeGreaterThan(epoch);
    expect(filesBeside().sort()).toEqual(
      [file, `${file}.replaced-then`].map((path) => path.slice(server.directory.length + 1)),
    );
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await limitsOf(databaseUrl)).toEqual([1]);
    expect(await limitsOf(`sqlite:${restored.replaced}`)).toEqual([3]);
    expect(await write(4)).toBeGreaterThan(restored.epoch.after);
  });

  it('reserves the maximum of every connector, and then its fail-safe, even without a reservation in the backup', async () => {
    const { store } = await openStore(databaseUrl);
    await store.append(HARBOUR, [reserve({ limitTenthsA: 60, thenTenthsA: 0, lease: 'receipt' })]);
    await store.close();
    const later = inDirectory(`later-${names}`);
    await backupDatabase(databaseUrl, later);
    const { connectors } = await restore({ backup: later });
    const restored = await openStore(databaseUrl);
    const { reservations, locations } = await restored.store.loadTenant(HARBOUR);
    await restored.store.close();
    const provisioned = locations.flatMap((location) => location.connectors);
    expect(reservations).toHaveLength(connectors);
    for (const { connectorId, controllerUuid, maxCurrentA, failsafeA } of provisioned) {
      const isThis = (row: { connectorId: string; controllerUuid: string }) =>
        row.connectorId === connectorId && row.controllerUuid === controllerUuid;
      expect(reservations.find(isThis)).toMatchObject({
        limitTenthsA: maxCurrentA * 10,
        thenTenthsA: failsafeA * 10,
      });
    }
    expect(reservations.filter(({ lease }) => lease === 'receipt')).toHaveLength(1);
  });

  it('may be restored again, after the replaced database was restored in the same way', async () => {
    await write(2);
    const { replaced } = await restore();
    await restoreDatabase(databaseUrl, { backup: replaced ?? '', isDryRun: false, stamp: 'later' });
    expect(await limitsOf(databaseUrl)).toEqual([2]);
    await restoreDatabase(databaseUrl, { backup, isDryRun: false, stamp: 'last' });
    expect(await limitsOf(databaseUrl)).toEqual([1]);
  });

  it('replaces a damaged or missing database', async () => {
    await write(2);
    writeFileSync(file, 'nothing of use');
    expect((await restore()).replaced).toBe(`${file}.replaced-then`);
    expect(await limitsOf(databaseUrl)).toEqual([1]);
    rmSync(file);
    expect(await restoreDatabase(databaseUrl, { backup, isDryRun: false, stamp: 'gone' })).toMatchObject({
      replaced: null,
    });
    expect(await limitsOf(databaseUrl)).toEqual([1]);
  });

  it('may come from the first version, which counted no commits', async () => {
    const old = openDatabase(`sqlite:${backup}`);
    while (await old.schema.hasColumn('owner', 'commits')) await old.migrate.down();
    await old.destroy();
    await write(2);
    await restore();
    expect(await limitsOf(databaseUrl)).toEqual([1]);
  });

  it('stays unchanged in a dry run, as does the database', async () => {
    await write(2);
    const before = [file, backup, markFileOf(file)].map((path) => readFileSync(path));
    const restored = await restore({ isDryRun: true });
    expect(restored).toMatchObject({ replaced: null, profiles: 1 });
    const after = [file, backup, markFileOf(file)].map((path) => readFileSync(path));
    // The header holds the journal mode, and the next start sets that again.
    expect(after.map((content) => content.subarray(100))).toEqual(
      before.map((content) => content.subarray(100)),
    );
    expect(filesBeside()).toHaveLength(1);
    expect(await limitsOf(databaseUrl)).toEqual([2]);
  });
});

describe('A restore', () => {
  const expectRefusal = async (
    refused: Promise<unknown>,
    message: RegExp,
    kind: new (message: string) => Error = AdministrationError,
  ) => {
    await expect(refused).rejects.toThrow(message);
    await expect(refused).rejects.toBeInstanceOf(kind);
    expect(filesBeside().filter((name) => name.includes('unfinished') || name.includes('replaced'))).toEqual(
      [],
    );
  };

  it('is refused while a service, a command or another program has the database open', async () => {
    const { store } = await openStore(databaseUrl);
    await expectRefusal(restore(), /in use: stop the service/, StoreUnavailableError);
    await store.close();
    const other = createKnex({ client: 'sqlite3', connection: { filename: file }, useNullAsDefault: true });
    await other.raw('select count(*) from tenants');
    await expectRefusal(restore(), /in use: stop the service/, StoreUnavailableError);
    await other.destroy();
    await restore();
  });

  it('is refused if the file is missing, no database, of another product, or the database itself', async () => {
    await expectRefusal(restore({ backup: inDirectory('nothing') }), /there is no file/);
    const text = inDirectory('text');
    writeFileSync(text, 'words '.repeat(1000));
    await expectRefusal(restore({ backup: text }), /text is damaged and cannot be used: .*not a database/);
    const foreign = createKnex({
      client: 'sqlite3',
      connection: { filename: inDirectory('foreign') },
      useNullAsDefault: true,
    });
    await foreign.schema.createTable('owner', (table) => table.integer('epoch'));
    await foreign.destroy();
    await expectRefusal(restore({ backup: inDirectory('foreign') }), /foreign is not a database of Headroom/);
    await expectRefusal(restore({ backup: file }), /is the database itself/);
  });

  it('is refused if the backup is damaged, or of a newer version', async () => {
    const content = readFileSync(backup);
    const damaged = inDirectory(`damaged-${names}`);
    writeFileSync(damaged, content.fill(0xa5, 4096, 8192));
    await expectRefusal(restore({ backup: damaged }), /is damaged and cannot be used/);
    const newer = openDatabase(`sqlite:${backup}`);
    await newer('migrations').insert({ name: '9999-to-come', batch: 9, migration_time: newer.fn.now() });
    await newer.destroy();
    await expectRefusal(restore(), /newer version of Headroom/, StoreUnavailableError);
  });
});

describe('A database restored with --as-is', () => {
  it('starts again despite lost acknowledged writes', async () => {
    copyFileSync(file, inDirectory('older'));
    await write(2);
    copyFileSync(inDirectory('older'), file);
    await expect(openStore(databaseUrl)).rejects.toBeInstanceOf(DatabaseLostError);
    const { epoch } = await restore({ backup: undefined });
    expect(await limitsOf(databaseUrl)).toEqual([1]);
    expect(await write(3)).toBeGreaterThan(epoch.after);
  });

  it('starts empty if it is gone, under an ownership term above all earlier ones', async () => {
    const epoch = await write(2);
    rmSync(file);
    await expect(openStore(databaseUrl)).rejects.toThrow(/is gone/);
    expect(await restore({ backup: undefined })).toMatchObject({ replaced: null, tenants: 0, connectors: 0 });
    const { store } = await openStore(databaseUrl);
    expect(await store.ownership.claim()).toBeGreaterThan(epoch + 1000);
    await store.close();
  });

  it('is refused while it is damaged', async () => {
    writeFileSync(file, readFileSync(file).fill(0xa5, 4096, 8192));
    await expect(restore({ backup: undefined })).rejects.toThrow(/is damaged and cannot be used/);
  });
});

describe('PostgreSQL', needing(missingPostgres()), () => {
  it('gets a higher ownership term and reserved maxima after a restore by its own tools', async () => {
    const postgres = await startPostgresServer();
    const url = await postgres.createDatabase();
    await provisionAll(url, [HARBOUR_TENANT]);
    const { store } = await openStore(url);
    const epoch = await store.ownership.claim();
    const options = { backup: undefined, stamp: 'then' };
    await expect(restoreDatabase(url, { ...options, backup, isDryRun: false })).rejects.toThrow(/pg_restore/);
    const tried = await restoreDatabase(url, { ...options, isDryRun: true });
    expect(await store.isOwner()).toBe(true);
    const restored = await restoreDatabase(url, { ...options, isDryRun: false });
    expect(restored).toEqual(tried);
    expect(restored.epoch.after).toBeGreaterThan(epoch);
    // A service that still runs finds that it no longer owns the database.
    expect(await store.isOwner()).toBe(false);
    expect((await store.loadTenant(HARBOUR)).reservations).toHaveLength(restored.connectors);
    await store.close();
    await postgres.stop();
  });
});
