// Section 1: one tenant can neither read nor change another's objects, nor learn that they exist.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TenantUuid } from '../../machines/values/ids.js';
import { clusterListSchema, clusterSchema } from '../../src/features/clusters/contract.js';
import { locationLimitsSchema } from '../../src/features/profiles/contract.js';
import { bodyOf } from './answers.js';
import { endpointsOn, titleOf } from './endpoints.js';
import { HOUR_MS, profile } from './profiles.js';
import {
  type Answer,
  apiKeyOf,
  HARBOUR,
  RIVAL,
  type RunningService,
  runService,
  site,
  tenantWith,
} from './running-service.js';

const SHARED = ['quay-1', 'quay-2'];
const NOBODYS_CLUSTER = '00000000-0000-4000-8000-000000000000';

let service: RunningService;
let harbourCluster: string;
let rivalCluster: string;
beforeAll(async () => {
  // Both have the same ids, but one location and its charger belong to the harbour alone.
  service = await runService([
    tenantWith(
      HARBOUR,
      [...SHARED, 'harbour-only'].map((id) => site(id)),
    ),
    tenantWith(
      RIVAL,
      SHARED.map((id) => site(id, { permanentLimitKw: 99 })),
    ),
  ]);
  harbourCluster = await newCluster(HARBOUR);
  rivalCluster = await newCluster(RIVAL);
  for (const { method, path, body } of endpointsOn(targetOf('quay-1', harbourCluster)).slice(0, 6)) {
    await service.call(method, path, body);
  }
});
afterAll(() => service.stop());

async function newCluster(tenantUuid: TenantUuid): Promise<string> {
  const request = { name: 'A cluster', locationIds: SHARED, limitKw: 40 };
  const answer = await service.call('POST', '/clusters', request, tenantUuid);
  return bodyOf(answer, clusterSchema, 201).clusterId;
}

function targetOf(locationId: string, clusterId: string) {
  return { locationId, memberId: 'quay-2', controllerUuid: `${locationId}-a`, clusterId };
}

/** An explicit span, because a default one would move with the clock. */
const SPAN = profile({ startsInMs: -HOUR_MS, endsInMs: HOUR_MS });
const PAST = `from=${SPAN.startTime}&to=${SPAN.endTime}`;

/** Everything that a tenant can read. */
async function everythingOf(tenantUuid: TenantUuid): Promise<readonly object[]> {
  const read = async (path: string) => (await service.call('GET', path, undefined, tenantUuid)).body;
  const { clusters } = clusterListSchema.parse(await read('/clusters'));
  const paths = [
    ...[...SHARED, 'harbour-only'].flatMap((id) => [
      `/locations/${id}/limits`,
      `/locations/${id}/history?${PAST}`,
      `/chargers/${id}-a/connectors/1/history?${PAST}`,
    ]),
    '/organizations/limits',
    `/organizations/history?${PAST}`,
    '/credentials/api-keys',
    '/credentials/clients',
    '/clusters',
    ...clusters.map(({ clusterId }) => `/clusters/${clusterId}`),
  ];
  const bodies = await Promise.all(paths.map(read));
  // Each read updates the last use of its credential.
  const unused = (body: object) => JSON.parse(JSON.stringify(body).replace(/"lastUsedAt":"[^"]*",/g, ''));
  return bodies.map((body) => ('error' in body ? { error: 'unknown' } : unused(body)));
}

/**
 * The information in an answer: its body without the requested id, the request's own id and the second of the answer.
 */
function disclosed(answer: Answer, askedFor: string): object {
  const requestId = answer.headers.get('x-request-id') ?? '';
  const text = JSON.stringify(answer.body).replaceAll(askedFor, '{id}').replaceAll(requestId, '{requestId}');
  const headers = Object.fromEntries(answer.headers);
  return { status: answer.status, text, headers: { ...headers, date: '', 'x-request-id': '' } };
}

const ASKED_BY_LOCATION = [1, 2, 3, 4, 7, 101, 102, 104, 105, 106, 107];
const ASKED_BY_CLUSTER = [9, 10, 11, 12, 13];

describe("another tenant's id answers exactly as an unknown one (decisions)", () => {
  // Ids of the same length, so that even the lengths of the answers agree.
  const foreign = 'harbour-only';
  const unknown = 'nowhere-only';
  const byLocation = endpointsOn(targetOf(foreign, 'none')).filter(({ number }) =>
    ASKED_BY_LOCATION.includes(number),
  );
  it.each(byLocation.map((each) => [titleOf(each), each.number] as const))('%s', async (_, number) => {
    const answers = await Promise.all(
      [foreign, unknown].map(async (id) => {
        const found = endpointsOn(targetOf(id, rivalCluster)).find((each) => each.number === number);
        const answer = await service.call(found?.method ?? '', found?.path ?? '', found?.body, RIVAL);
        expect(answer.status).toBe(404);
        return disclosed(answer, id);
      }),
    );
    expect(answers[0]).toEqual(answers[1]);
  });

  const byCluster = endpointsOn(targetOf('quay-1', '{clusterId}')).filter(({ number }) =>
    ASKED_BY_CLUSTER.includes(number),
  );
  it.each(byCluster.map((each) => [titleOf(each), each.number] as const))('%s', async (_, number) => {
    const before = await everythingOf(HARBOUR);
    const answers = await Promise.all(
      [harbourCluster, NOBODYS_CLUSTER].map(async (id) => {
        const found = endpointsOn(targetOf('quay-1', id)).find((each) => each.number === number);
        const answer = await service.call(found?.method ?? '', found?.path ?? '', found?.body, RIVAL);
        expect(answer.status).toBe(404);
        return disclosed(answer, id);
      }),
    );
    expect(answers[0]).toEqual(answers[1]);
    expect(await everythingOf(HARBOUR)).toEqual(before);
  });

  it('as a member to add or remove', async () => {
    for (const [method, pathOf, bodyFor] of [
      ['PATCH', () => `/clusters/${rivalCluster}`, (id: string) => ({ locationIds: ['quay-1', id] })],
      ['DELETE', (id: string) => `/clusters/${rivalCluster}/locations/${id}`, () => undefined],
    ] as const) {
      const [ofHarbour, ofNobody] = await Promise.all(
        [foreign, unknown].map(async (id) =>
          disclosed(await service.call(method, pathOf(id), bodyFor(id), RIVAL), id),
        ),
      );
      expect(ofHarbour).toMatchObject({ status: 404 });
      expect(ofHarbour).toEqual(ofNobody);
    }
  });
});

describe('two tenants with the same ids', () => {
  it.each(
    endpointsOn(targetOf('quay-1', '{clusterId}')).map((each) => [titleOf(each), each.number] as const),
  )('do not touch each other: %s', async (_, number) => {
    const before = await everythingOf(HARBOUR);
    const own = await newCluster(RIVAL);
    const found = endpointsOn({ ...targetOf('quay-1', own), tenantUuid: RIVAL }).find(
      (each) => each.number === number,
    );
    const { method = '', path = '', body } = found ?? {};
    const answer = await service.call(method, path, body && { ...body, tenantUuid: HARBOUR }, RIVAL);
    bodyOf(answer, found?.schema ?? clusterSchema, found?.status);
    expect(JSON.stringify(answer.body)).not.toContain(HARBOUR);
    expect(await everythingOf(HARBOUR)).toEqual(before);
  });

  it('see their own limits, over a restart too', async () => {
    const both = async () => [await everythingOf(HARBOUR), await everythingOf(RIVAL)];
    const before = await both();
    expect(before[0]).toContainEqual(expect.objectContaining({ locationId: 'quay-1', permanentLimitKw: 42 }));
    expect(before[1]).toContainEqual(expect.objectContaining({ locationId: 'quay-2', permanentLimitKw: 99 }));
    service = await service.restart();
    expect(await both()).toEqual(before);
  });

  it('list only their own clusters (4)', async () => {
    for (const [tenantUuid, foreign] of [
      [HARBOUR, rivalCluster],
      [RIVAL, harbourCluster],
    ] as const) {
      const answer = await service.call('GET', '/clusters', undefined, tenantUuid);
      const { clusters } = bodyOf(answer, clusterListSchema);
      expect(new Set(clusters.map((cluster) => cluster.tenantUuid))).toEqual(new Set([tenantUuid]));
      expect(clusters.map(({ clusterId }) => clusterId)).not.toContain(foreign);
    }
  });
});

describe('the tenant comes from the credential alone (5.2)', () => {
  it('at any headers and query', async () => {
    const headers = {
      'x-api-key': apiKeyOf(RIVAL),
      'x-tenant-uuid': HARBOUR,
      'x-tenant-id': HARBOUR,
      tenantuuid: HARBOUR,
      'x-forwarded-user': HARBOUR,
    };
    const before = await everythingOf(HARBOUR);
    const path = `/locations/quay-2/schedules?tenantUuid=${HARBOUR}`;
    await service.send('POST', path, { headers, body: profile({ limitKw: 1, priority: 10 }) });
    expect(await everythingOf(HARBOUR)).toEqual(before);
    const read = await service.send('GET', `/locations/quay-2/limits?tenantUuid=${HARBOUR}`, { headers });
    expect(bodyOf(read, locationLimitsSchema)).toMatchObject({ permanentLimitKw: 99, effectiveLimitKw: 1 });
  });
});
