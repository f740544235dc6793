// While the database cannot take a write, requests get 503 with the envelope. No acknowledged write is lost, and writes
// work again afterwards.
import type { Knex } from 'knex';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/clock.js';
import { databaseUrlOf } from '../../src/config.js';
import { clusterListSchema, clusterSchema } from '../../src/features/clusters/contract.js';
import { locationLimitsSchema } from '../../src/features/profiles/contract.js';
import { createMetrics } from '../../src/metrics.js';
import { openDatabase } from '../../src/outbound/knex/connection.js';
import { storeOver } from '../../src/outbound/knex/store.js';
import type { Log } from '../../src/ports/log.js';
import { type Store, StoreUnavailableError } from '../../src/ports/store.js';
import { eventually } from '../eventually.js';
import { createSqliteServer } from '../outbound/knex/sqlite-server.js';
import { bodyOf, refusalOf } from './answers.js';
import { type EndpointCase, endpointsOn } from './endpoints.js';
import { profile } from './profiles.js';
import {
  type Answer,
  HARBOUR,
  provision,
  type RunningService,
  runService,
  silentLog,
  site,
  tenantWith,
} from './running-service.js';

const tenants = () => [
  tenantWith(
    HARBOUR,
    ['quay-1', 'quay-2'].map((id) => site(id)),
  ),
];

let service: RunningService;
afterEach(() => service.stop());

async function newCluster(name = 'A cluster'): Promise<string> {
  const answer = await service.call('POST', '/clusters', { name, locationIds: ['quay-1', 'quay-2'] });
  return bodyOf(answer, clusterSchema, 201).clusterId;
}

/** Every writing endpoint. Each of 10 to 13 has its own cluster, so that none waits for another. */
async function writes(): Promise<readonly EndpointCase[]> {
  const cases: EndpointCase[] = [];
  for (const number of [1, 2, 3, 5, 7, 10, 11, 12, 13, 111, 112, 114, 115]) {
    const clusterId = number >= 10 ? await newCluster() : 'none';
    const target = { locationId: 'quay-1', memberId: 'quay-2', controllerUuid: 'quay-1-a', clusterId };
    cases.push(...endpointsOn(target).filter((each) => each.number === number));
  }
  return cases;
}

function callAll(cases: readonly EndpointCase[]): Promise<readonly Answer[]> {
  return Promise.all(cases.map(({ method, path, body }) => service.call(method, path, body)));
}

/** Everything that the tenant can read. */
async function everything(): Promise<readonly object[]> {
  const paths = [
    '/locations/quay-1/limits',
    '/locations/quay-2/limits',
    '/organizations/limits',
    '/clusters',
  ];
  return (await Promise.all(paths.map((path) => service.call('GET', path)))).map(({ body }) => body);
}

function expectUnavailable(answer: Answer): void {
  refusalOf(answer, 'SERVICE_UNAVAILABLE');
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
}

describe('a database that another process has locked', () => {
  it('answers every write with 503 and changes nothing; reading goes on; afterwards all works', async () => {
    service = await runService(tenants());
    const server = createSqliteServer();
    const cases = await writes();
    const before = await everything();
    const giveBack = await server.takeAway(databaseUrlOf(service.config));
    const answers = callAll(cases);
    expect(await everything()).toEqual(before);
    for (const answer of await answers) expectUnavailable(answer);
    expect(await everything()).toEqual(before);
    await giveBack();
    for (const [i, answer] of (await callAll(cases)).entries()) {
      const { schema, status } = cases[i] ?? {};
      bodyOf(answer, schema ?? clusterSchema, status);
    }
    const after = await everything();
    expect(after).not.toEqual(before);
    service = await service.restart();
    expect(await everything()).toEqual(after);
    await server.stop();
  });
});

describe('a disk that is full', () => {
  it('answers 503 from then on, keeps all that was acknowledged, and takes writes again when there is room', async () => {
    let disk: Knex | undefined;
    const metrics = createMetrics();
    // The service's own store, over a connection whose disk space the test sets.
    const withDisk = (_: Store): Store => {
      disk = openDatabase(databaseUrlOf(service.config));
      return storeOver(disk, { clock: systemClock, metrics });
    };
    service = await runService(tenants());
    service = await service.restart({ wrapStore: withDisk });
    const acknowledged = new Set<string>();
    const create = async (name: string) => {
      const request = { name, locationIds: ['quay-1', 'quay-2'] };
      const answer = await service.call('POST', '/clusters', request);
      if (answer.status === 201) acknowledged.add(bodyOf(answer, clusterSchema, 201).clusterId);
      return answer;
    };
    await create('before');
    await disk?.raw('pragma max_page_count = 1');
    let last = await create('n'.repeat(200));
    for (let i = 0; last.status === 201 && i < 500; i++) last = await create('n'.repeat(200));
    expectUnavailable(last);
    const ids = async () => {
      const { clusters } = bodyOf(await service.call('GET', '/clusters'), clusterListSchema);
      return new Set(clusters.map(({ clusterId }) => clusterId));
    };
    expect(await ids()).toEqual(acknowledged);
    await disk?.raw('pragma max_page_count = 1000000');
    expect((await create('after')).status).toBe(201);
    await disk?.destroy();
    service = await service.restart();
    expect(await ids()).toEqual(acknowledged);
  });
});

describe('a store that cannot be reached', () => {
  it('answers 503 with Retry-After while it is away, and everything is as it was', async () => {
    let away = false;
    const unreachable = (store: Store): Store => ({
      ...store,
      append: (...submission) =>
        away ? Promise.reject(new StoreUnavailableError('away')) : store.append(...submission),
      changeCredentials: (...change) =>
        away ? Promise.reject(new StoreUnavailableError('away')) : store.changeCredentials(...change),
    });
    service = await runService(tenants(), { wrapStore: unreachable });
    const cases = await writes();
    const before = await everything();
    away = true;
    for (const answer of await callAll(cases)) expectUnavailable(answer);
    expect(await everything()).toEqual(before);
    away = false;
    for (const answer of await callAll(cases)) expect([200, 201]).toContain(answer.status);
  });

  it('does not end the search for changes from outside: later ones are seen once it is back', async () => {
    let away = true;
    const unreachable = (store: Store): Store => ({
      ...store,
      revisionSince: (since) =>
        away && since !== undefined
          ? Promise.reject(new StoreUnavailableError('away'))
          : store.revisionSince(since),
    });
    const warnings: string[] = [];
    const log: Log = { ...silentLog, warn: (_, message) => void warnings.push(message) };
    service = await runService(tenants(), { wrapStore: unreachable, log });
    await provision(service.config, tenantWith(HARBOUR, [site('quay-1', { permanentLimitKw: 17 })]));
    await eventually(() => expect(warnings.join()).toContain('changes in the database could not be read'));
    away = false;
    const read = () => service.call('GET', '/locations/quay-1/limits');
    await eventually(async () =>
      expect(bodyOf(await read(), locationLimitsSchema)).toMatchObject({ permanentLimitKw: 17 }),
    );
  });
});

describe('a defect', () => {
  it('is 500 INTERNAL_ERROR without a word of it outside, and its log line has the same requestId', async () => {
    const lines: (readonly [object, string])[] = [];
    const log: Log = { ...silentLog, error: (fields, message) => void lines.push([fields, message]) };
    const broken = (store: Store): Store => ({
      ...store,
      append: () => Promise.reject(new TypeError('secret inner words')),
    });
    service = await runService(tenants(), { wrapStore: broken, log });
    const before = await everything();
    const answer = await service.call('POST', '/locations/quay-1/schedules', profile());
    expect(refusalOf(answer, 'INTERNAL_ERROR')).not.toContain('secret');
    const requestId = answer.headers.get('x-request-id');
    expect(lines).toContainEqual([expect.objectContaining({ requestId }), expect.any(String)]);
    expect(await everything()).toEqual(before);
  });

  it('of an effect does not reach the caller, nor end the service', async () => {
    let faulty = false;
    const log: Log = {
      ...silentLog,
      debug(_, message) {
        if (faulty && message === 'effect') throw new Error('an effect that fails');
      },
    };
    service = await runService(tenants(), { log });
    faulty = true;
    const answer = await service.call('POST', '/locations/quay-1/schedules', profile({ limitKw: 6 }));
    expect(answer.status).toBe(200);
    faulty = false;
    const read = bodyOf(await service.call('GET', '/locations/quay-1/limits'), locationLimitsSchema);
    expect(read).toMatchObject({ effectiveLimitKw: 6 });
    const { values } = await service.metrics.actorsRebuilt.get();
    expect(values[0]?.value).toBeGreaterThan(0);
  });
});
