// The store and the administration on a real PostgreSQL; skipped with a reason if npm installed no binaries.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { migrate } from '../../../src/outbound/knex/database.js';
import { StoreUnavailableError } from '../../../src/ports/store.js';
import { needing } from '../../needs.js';
import { describeAdministration } from './administration-contract.js';
import type { DatabaseServer } from './database-server.js';
import { describeEnforcementRows } from './enforcement-rows-contract.js';
import { cluster, HARBOUR, HARBOUR_TENANT, openStore, provisionAll, QUAY } from './harbour.js';
import { describeOwnership } from './ownership-contract.js';
import { missingPostgres, startPostgresServer } from './postgres-server.js';
import { describeStore } from './store-contract.js';

describe('PostgreSQL', needing(missingPostgres()), () => {
  let server: DatabaseServer;
  beforeAll(async () => {
    server = await startPostgresServer();
  });
  afterAll(() => server.stop());

  describe('the store', () => describeStore(() => server));
  describe('the rows of enforcement', () => describeEnforcementRows(() => server));
  describe('the ownership', () => describeOwnership(() => server, true));
  describe('the administration', () => describeAdministration(() => server));

  it('answers nothing but StoreUnavailableError while it accepts no connections', async () => {
    const databaseUrl = await server.createDatabase();
    const { store } = await openStore(databaseUrl);
    const giveBack = await server.takeAway(databaseUrl);
    await expect(store.ping()).rejects.toBeInstanceOf(StoreUnavailableError);
    await expect(store.loadCredentials()).rejects.toBeInstanceOf(StoreUnavailableError);
    await expect(openStore(databaseUrl)).rejects.toBeInstanceOf(StoreUnavailableError);
    await giveBack();
    await store.ping();
    await store.close();
  });

  it('refuses a name with a NUL, which it cannot store, for its caller only', async () => {
    const databaseUrl = await server.createDatabase();
    await provisionAll(databaseUrl, [HARBOUR_TENANT]);
    const { store } = await openStore(databaseUrl);
    const bad = store.append(HARBOUR, [
      { kind: 'cluster.put', cluster: cluster('bad', [QUAY], { name: 'a\0b' }) },
    ]);
    const good = store.append(HARBOUR, [{ kind: 'cluster.put', cluster: cluster('good', [QUAY]) }]);
    await expect(bad).rejects.not.toBeInstanceOf(StoreUnavailableError);
    await good;
    expect((await store.loadTenant(HARBOUR)).clusters).toHaveLength(1);
    await store.close();
  });

  it.each(['127.0.0.1:1', 'localhost:1', 'no-such-host.invalid:5432'])(
    'answers StoreUnavailableError if no server listens, as on %s',
    async (host) => {
      await expect(migrate(`postgres://postgres:password@${host}/none`)).rejects.toBeInstanceOf(
        StoreUnavailableError,
      );
    },
  );
});
