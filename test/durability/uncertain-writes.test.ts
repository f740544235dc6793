// A service whose PostgreSQL fails around a commit: its answers, and the return of its memory to the state of the rows.
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Store } from '../../src/ports/store.js';
import { eventually } from '../eventually.js';
import { needing } from '../needs.js';
import { type BrokenLink, openBrokenLink } from '../outbound/knex/broken-link.js';
import type { DatabaseServer } from '../outbound/knex/database-server.js';
import { missingPostgres, startPostgresServer } from '../outbound/knex/postgres-server.js';
import {
  type Answer,
  HARBOUR,
  type RunningService,
  runService,
  site,
  tenantWith,
} from '../service/running-service.js';
import { observeHistory, withRows } from './observed.js';

const WINDOW = { startTime: '2020-01-01T00:00:00Z', endTime: '2090-01-01T00:00:00Z', priority: 3 };

describe('A service on PostgreSQL', needing(missingPostgres()), () => {
  let server: DatabaseServer;
  beforeAll(async () => {
    server = await startPostgresServer();
  });
  afterAll(() => server.stop());

  async function run() {
    const databaseUrl = await server.createDatabase();
    const link = await openBrokenLink(databaseUrl);
    let loads = 0;
    const countingLoads = (store: Store): Store => ({
      ...store,
      loadTenant: async (tenantUuid) => {
        const state = await store.loadTenant(tenantUuid);
        loads += 1;
        return state;
      },
    });
    const service = await runService(
      [tenantWith(HARBOUR, [site('quay-1'), site('quay-2')])],
      { wrapStore: countingLoads },
      { HEADROOM_DATABASE_URL: link.databaseUrl },
    );
    onTestFinished(async () => {
      await service.stop();
      await link.close();
    });
    /** Waits until the service has read the rows once more. */
    const readAgain = (before: number) => eventually(() => expect(loads).toBeGreaterThan(before));
    return { databaseUrl, link, service, loads: () => loads, readAgain };
  }

  /** Expects the same values from REST and from the rows. */
  async function expectMemoryToBeRows(service: RunningService, databaseUrl: string): Promise<void> {
    const state = await withRows(databaseUrl, (store) => store.loadTenant(HARBOUR));
    for (const { locationId, permanentLimitKw } of state.locations) {
      const { body } = await service.call('GET', `/locations/${locationId}/limits`);
      const rows = state.profiles.filter(
        ({ target }) => target.kind === 'location' && target.locationId === locationId,
      );
      expect(body).toMatchObject({
        permanentLimitKw,
        profiles: rows.map(({ priority, limitKw }) => ({ priority, limitKw })),
      });
    }
    const { body } = await service.call('GET', '/clusters');
    const members = (clusters: readonly { readonly clusterId: string; readonly locationIds: unknown }[]) =>
      new Map(clusters.map(({ clusterId, locationIds }) => [clusterId, locationIds]));
    expect(members(body.clusters as never)).toEqual(members(state.clusters));
  }

  /** Breaks the link at the commit of `call`, which writes rows `about` something. Expects the answer 503. */
  async function broken(
    link: BrokenLink,
    { how, about }: { readonly how: 'lost' | 'unanswered'; readonly about: string },
    call: () => Promise<Answer>,
  ) {
    const [answer] = await Promise.all([call(), link.breakAtCommit(how, about)]);
    expect(answer).toMatchObject({ status: 503, body: { error: { code: 'SERVICE_UNAVAILABLE' } } });
    expect(answer.headers.get('retry-after')).toBe('1');
    return answer;
  }

  it.each([
    ['lost', 1],
    ['unanswered', 2],
  ] as const)(
    'reports that a schedule whose commit was %s may be stored, and shows it if it is',
    async (how, shownKw) => {
      const { databaseUrl, link, service, loads, readAgain } = await run();
      const submit = (limitKw: number) =>
        service.call('POST', '/locations/quay-1/schedules', { ...WINDOW, limitKw });
      expect((await submit(1)).status).toBe(200);
      const before = loads();
      const { body } = await broken(link, { how, about: 'insert into profiles' }, () => submit(2));
      expect(JSON.stringify(body)).toContain('check for the change before');
      await readAgain(before);
      const limits = await service.call('GET', '/locations/quay-1/limits');
      expect(limits.body).toMatchObject({ effectiveLimitKw: shownKw });
      await expectMemoryToBeRows(service, databaseUrl);
    },
  );

  it('reloads all rows that shared a commit without an answer, clusters included', async () => {
    const { databaseUrl, link, service, loads, readAgain } = await run();
    const created = await service.call('POST', '/clusters', {
      name: 'Quay',
      locationIds: ['quay-1', 'quay-2'],
    });
    const path = `/clusters/${created.body.clusterId}`;
    const before = loads();
    await broken(link, { how: 'unanswered', about: 'cluster' }, () =>
      service.call('DELETE', `${path}/locations/quay-1`),
    );
    await readAgain(before);
    expect((await service.call('GET', path)).body).toMatchObject({ locationIds: ['quay-2'] });
    await expectMemoryToBeRows(service, databaseUrl);
    expect((await service.call('DELETE', `${path}/locations/quay-2`)).status).toBe(400);
  });

  it('continues, and loses no acknowledged write, while its database sessions are terminated', async () => {
    const { databaseUrl, service } = await run();
    const operator = new pg.Client(databaseUrl);
    await operator.connect();
    /** Terminates the service's active database sessions until `answered` settles. */
    async function terminateUntil(answered: Promise<unknown>): Promise<void> {
      let isOver = false;
      void answered.finally(() => {
        isOver = true;
      });
      while (!isOver) {
        await operator.query(
          `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database()
             and application_name like 'headroom%' and state = 'active' and pid <> pg_backend_pid()`,
        );
      }
    }
    const acknowledged: number[] = [];
    const statuses = new Map<number, number>();
    const times = (status: number) => statuses.get(status) ?? 0;
    for (let limitKw = 1; times(200) < 50 || times(503) < 5; limitKw++) {
      const path = `/locations/quay-${1 + (limitKw % 2)}/schedules`;
      const answered = service.call('POST', path, { ...WINDOW, priority: limitKw % 11, limitKw });
      // Only every fourth write is disturbed, because otherwise it would be luck if any one succeeds.
      if (limitKw % 4 === 0) await terminateUntil(answered);
      const { status } = await answered;
      statuses.set(status, times(status) + 1);
      if (status === 200) acknowledged.push(limitKw);
    }
    await operator.end();
    expect([...statuses.keys()].sort()).toEqual([200, 503]);
    await eventually(() => expectMemoryToBeRows(service, databaseUrl));
    const { limits } = await withRows(databaseUrl, (store) => observeHistory(store, [HARBOUR]));
    expect([...limits.values()].flat()).toEqual(expect.arrayContaining(acknowledged.map(String)));
  });
});
