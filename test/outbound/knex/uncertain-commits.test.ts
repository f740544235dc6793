// The store while PostgreSQL or its connection fails around a commit; real server, real connections.

import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { readProfileHistory } from '../../../src/features/profiles/rows.js';
import { openDatabase } from '../../../src/outbound/knex/connection.js';
import type { Store } from '../../../src/ports/store.js';
import { eventually } from '../../eventually.js';
import { needing } from '../../needs.js';
import { type AtCommit, openBrokenLink } from './broken-link.js';
import type { DatabaseServer } from './database-server.js';
import {
  ALL_TIME,
  cluster,
  HARBOUR,
  HARBOUR_TENANT,
  ORGANIZATION,
  openStore,
  provisionAll,
  put,
  QUAY,
  QUAY_TARGET,
} from './harbour.js';
import { missingPostgres, startPostgresServer } from './postgres-server.js';

const BEFORE = put(QUAY_TARGET, { limitKw: 1 });
const AROUND = put(QUAY_TARGET, { limitKw: 2 });
const AFTER = put(QUAY_TARGET, { limitKw: 3 });

// An arbitrary key of the lock for which a slow commit waits.
const GATE = 4711;
const SLOW_COMMITS = `
  create function wait_at_gate() returns trigger language plpgsql as
    'begin perform pg_advisory_xact_lock(${GATE}); return null; end';
  create constraint trigger slow_commit after insert on profiles
    deferrable initially deferred for each row execute function wait_at_gate();
`;

/** False for the victim of a deadlock. @throws any other error */
function orNotInDeadlock(error: unknown): false {
  if (error instanceof pg.DatabaseError && error.code === '40P01') return false;
  throw error;
}

describe('PostgreSQL', needing(missingPostgres()), () => {
  let server: DatabaseServer;
  let databaseUrl: string;
  let operator: pg.Client;
  // A separate connection, because the operator would see the same activity for the whole transaction.
  let watcher: pg.Client;
  let provisionedUrl: string;
  beforeAll(async () => {
    server = await startPostgresServer();
    provisionedUrl = await server.createDatabase();
    await provisionAll(provisionedUrl, [HARBOUR_TENANT]);
  });
  afterAll(() => server.stop());

  beforeEach(async () => {
    databaseUrl = await server.copyDatabase(provisionedUrl);
    operator = new pg.Client(databaseUrl);
    watcher = new pg.Client(databaseUrl);
    await Promise.all([operator.connect(), watcher.connect()]);
  });
  afterEach(() => Promise.all([operator.end(), watcher.end()]));

  async function open(url = databaseUrl): Promise<Store> {
    const { store } = await openStore(url);
    onTestFinished(() => store.close());
    return store;
  }

  async function openBroken() {
    const link = await openBrokenLink(databaseUrl);
    onTestFinished(() => link.close());
    return { link, store: await open(link.databaseUrl) };
  }

  /** The limits of the quay's one slot, in order of submission. */
  async function history(store: Store): Promise<readonly number[]> {
    return (await store.read((trx) => readProfileHistory(trx, HARBOUR, QUAY_TARGET, ALL_TIME))).map(
      ({ limitKw }) => limitKw,
    );
  }

  /** Waits until one of the store's sessions waits for a lock in such a statement. @returns its process id */
  async function waiting(statement: string): Promise<number> {
    return eventually(async () => {
      const { rows } = await watcher.query(
        `select pid from pg_stat_activity where datname = current_database()
             and application_name = 'headroom' and wait_event_type = 'Lock' and query like $1`,
        [`${statement}%`],
      );
      expect(rows).toHaveLength(1);
      return rows[0].pid;
    });
  }

  const terminate = (pid: number) => watcher.query('select pg_terminate_backend($1)', [pid]);

  describe('a commit without an answer', () => {
    it.each<readonly [AtCommit, readonly number[]]>([
      ['lost', [1, 3]],
      ['unanswered', [1, 2, 3]],
    ])('has an unknown outcome if it is %s, and the rows show the outcome', async (how, expected) => {
      const { link, store } = await openBroken();
      await store.append(HARBOUR, [BEFORE]);
      const broken = link.breakAtCommit(how);
      await expect(store.append(HARBOUR, [AROUND])).rejects.toMatchObject({
        name: 'StoreUnavailableError',
        isOutcomeUnknown: true,
      });
      await broken;
      const read = await store.loadTenant(HARBOUR);
      expect(read.profiles.map(({ limitKw }) => limitKw)).toEqual([expected.at(-2)]);
      await store.append(HARBOUR, [AFTER]);
      expect(await history(store)).toEqual(expected);
    });

    it('has an unknown outcome if its session is terminated while it commits', async () => {
      const store = await open();
      await store.append(HARBOUR, [BEFORE]);
      await operator.query(`${SLOW_COMMITS} select pg_advisory_lock(${GATE})`);
      const append = store.append(HARBOUR, [AROUND]);
      await Promise.all([append.catch(() => {}), waiting('COMMIT').then(terminate)]);
      await expect(append).rejects.toMatchObject({ isOutcomeUnknown: true });
      await operator.query(`select pg_advisory_unlock(${GATE})`);
      expect((await store.loadTenant(HARBOUR)).profiles).toMatchObject([{ limitKw: 1 }]);
    });

    it('is awaited before rows are read again, because it may still succeed', async () => {
      const { link, store } = await openBroken();
      await store.append(HARBOUR, [BEFORE]);
      await operator.query(`${SLOW_COMMITS} select pg_advisory_lock(${GATE})`);
      const broken = link.breakAtCommit('cut');
      await expect(store.append(HARBOUR, [AROUND])).rejects.toMatchObject({ isOutcomeUnknown: true });
      await broken;
      await waiting('COMMIT');
      const read = store.loadTenant(HARBOUR);
      await waiting('select pg_advisory_xact_lock');
      await operator.query(`select pg_advisory_unlock(${GATE})`);
      expect((await read).profiles).toMatchObject([{ limitKw: 2 }]);
    });

    it('prevents a new read of the rows exactly as long as its outcome is unknown', async () => {
      const { link, store } = await openBroken();
      await operator.query(`${SLOW_COMMITS} select pg_advisory_lock(${GATE})`);
      const broken = link.breakAtCommit('cut');
      // Without a lock timeout the lost commit outlives every wait for it.
      await operator.query(`alter function wait_at_gate() set lock_timeout = 0`);
      await expect(store.append(HARBOUR, [AROUND])).rejects.toMatchObject({ isOutcomeUnknown: true });
      await broken;
      await expect(store.loadTenant(HARBOUR)).rejects.toMatchObject({ isOutcomeUnknown: false });
      await operator.query(`select pg_advisory_unlock(${GATE})`);
      expect((await store.loadTenant(HARBOUR)).profiles).toMatchObject([{ limitKw: 2 }]);
    });
  });

  describe('a write that fails before its commit', () => {
    it('is reported as not written if its session is terminated', async () => {
      const store = await open();
      await store.append(HARBOUR, [BEFORE]);
      await operator.query('begin; lock table profiles in access exclusive mode');
      const append = store.append(HARBOUR, [AROUND]);
      await Promise.all([append.catch(() => {}), waiting('update profiles').then(terminate)]);
      await operator.query('rollback');
      await expect(append).rejects.toMatchObject({ name: 'StoreUnavailableError', isOutcomeUnknown: false });
      await store.append(HARBOUR, [AFTER]);
      expect(await history(store)).toEqual([1, 3]);
    });

    it('is reported as not written if another session locks the rows, and blocks no caller', async () => {
      const store = await open();
      await store.append(HARBOUR, [BEFORE]);
      await operator.query('begin; lock table profiles in access exclusive mode');
      const refused = store.append(HARBOUR, [AROUND]);
      await expect(refused).rejects.toMatchObject({ name: 'StoreUnavailableError', isOutcomeUnknown: false });
      await expect(store.loadTenant(HARBOUR)).rejects.toMatchObject({ name: 'StoreUnavailableError' });
      await operator.query('rollback');
      await store.append(HARBOUR, [AFTER]);
      expect(await history(store)).toEqual([1, 3]);
    });
  });

  it('is given up if it falls silent, with an unknown outcome for the pending commit', async () => {
    const [committing, asked] = [await openBroken(), await openBroken()];
    await committing.store.append(HARBOUR, [BEFORE]);
    const broken = committing.link.breakAtCommit('silent');
    const append = committing.store.append(HARBOUR, [AROUND]);
    await broken;
    const thaw = asked.link.freeze();
    const questions = [
      asked.store.append(HARBOUR, [AFTER]),
      asked.store.loadTenant(HARBOUR),
      asked.store.loadCredentials(),
      asked.store.read((trx) => readProfileHistory(trx, HARBOUR, QUAY_TARGET, ALL_TIME)),
      asked.store.ping(),
    ];
    const outcomes = Promise.allSettled([append, ...questions]);
    const refused = (isOutcomeUnknown: boolean) => ({
      status: 'rejected',
      reason: { name: 'StoreUnavailableError', isOutcomeUnknown },
    });
    expect(await outcomes).toMatchObject([refused(true), ...questions.map(() => refused(false))]);
    thaw();
    for (const { store } of [committing, asked]) await store.append(HARBOUR, [AFTER]);
    expect(await history(committing.store)).toEqual([1, 2, 3, 3]);
  });

  describe('two services on one database', () => {
    it('put into the same slots without failures, and leave one unbroken history', async () => {
      const stores = [await open(), await open()];
      const rounds = Array.from({ length: 25 }, (_, round) => round);
      await Promise.all(
        stores.map(async (store, s) => {
          for (const round of rounds) {
            const atMs = 2 * round + s + 1;
            await Promise.all([
              store.append(HARBOUR, [put(QUAY_TARGET, { limitKw: atMs, atMs })]),
              store.append(HARBOUR, [put(ORGANIZATION, { limitKw: atMs, atMs })]),
            ]);
          }
        }),
      );
      for (const target of [QUAY_TARGET, ORGANIZATION]) {
        const rows =
          (await stores[0]?.read((trx) => readProfileHistory(trx, HARBOUR, target, ALL_TIME))) ?? [];
        expect(new Set(rows.map(({ limitKw }) => limitKw)).size).toBe(50);
        expect(rows.map(({ supersededAtMs }) => supersededAtMs)).toEqual([
          ...rows.slice(1).map(({ submittedAtMs }) => submittedAtMs),
          null,
        ]);
      }
    });

    it('resolve a deadlock in which each waits for rows of the other', async () => {
      const store = await open();
      const first = cluster('a', [QUAY]);
      const second = cluster('b', [QUAY]);
      const both = [first, second].map((each) => ({ kind: 'cluster.put', cluster: each }) as const);
      await store.append(HARBOUR, both);
      const renamed = both.map((each) => ({ ...each, cluster: { ...each.cluster, name: 'ours' } }));
      // A session checks for a deadlock after a second of waiting, and gives way. On a busy machine this may be the
      // operator.
      for (let isStoreAsked = false; !isStoreAsked; ) {
        await operator.query("begin; update clusters set name = 'other' where cluster_id = 'b'");
        const append = store.append(HARBOUR, renamed);
        await waiting('insert into clusters');
        isStoreAsked = await operator
          .query("update clusters set name = 'other' where cluster_id = 'a'")
          .then(() => true, orNotInDeadlock);
        await operator.query('commit');
        await append;
      }
      expect((await store.loadTenant(HARBOUR)).clusters.map(({ name }) => name)).toEqual(['ours', 'ours']);
    });
  });

  it.each([
    ['off', 'on'],
    ['remote_apply', 'remote_apply'],
  ])('set to synchronous_commit %s commits with %s', async (set, expected) => {
    await operator.query(
      `do $$ begin execute format('alter database %I set synchronous_commit = ${set}', current_database()); end $$`,
    );
    const knex = openDatabase(databaseUrl);
    const { rows } = await knex.raw('show synchronous_commit');
    await knex.destroy();
    expect(rows).toEqual([{ synchronous_commit: expected }]);
  });
});
