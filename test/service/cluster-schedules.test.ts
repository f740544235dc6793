// Endpoint 13: one request for every member of a cluster, each of which succeeds or fails on its own.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clusterSchema } from '../../src/features/clusters/contract.js';
import {
  clusterScheduleSchema,
  locationLimitsSchema,
  locationScheduleSchema,
} from '../../src/features/profiles/contract.js';
import { bodyOf, refusalOf } from './answers.js';
import { MINUTE_MS, profile } from './profiles.js';
import { HARBOUR, type RunningService, runService, site, tenantWith } from './running-service.js';

const THOUSAND = Array.from({ length: 1000 }, (_, i) => `of-many-${i}`);

let service: RunningService;
beforeAll(async () => {
  service = await runService([
    tenantWith(HARBOUR, [
      site('quay-1', { permanentLimitKw: 50 }),
      site('quay-2', { permanentLimitKw: 30 }),
      site('twin', { permanentLimitKw: 30 }),
      site('closed', { status: 'INACTIVE' }),
      site('shut', { status: 'INACTIVE' }),
      ...THOUSAND.map((id) => site(id)),
    ]),
  ]);
});
afterAll(() => service.stop());

async function create(locationIds: readonly string[], limitKw: number | null = null): Promise<string> {
  const answer = await service.call('POST', '/clusters', { name: 'A cluster', locationIds, limitKw });
  return bodyOf(answer, clusterSchema, 201).clusterId;
}

async function schedule(clusterId: string, request: object) {
  const answer = await service.call('POST', `/clusters/${clusterId}/schedules`, request);
  return { answer, result: bodyOf(answer, clusterScheduleSchema) };
}

async function limitsOf(locationId: string) {
  return bodyOf(await service.call('GET', `/locations/${locationId}/limits`), locationLimitsSchema);
}

describe('13 POST /clusters/{clusterId}/schedules', () => {
  it('applies the profile to every member as endpoint 2 would for each (4.1)', async () => {
    const clusterId = await create(['quay-1', 'quay-2']);
    const request = profile({ limitKw: 9, priority: 3 });
    const { result } = await schedule(clusterId, request);
    const { answer: alone } = {
      answer: await service.call('POST', '/locations/twin/schedules', request),
    };
    const { locationId: _, ...asAlone } = bodyOf(alone, locationScheduleSchema);
    expect(result).toEqual({
      clusterId,
      applied: [
        { ...asAlone, locationId: 'quay-1', permanentLimitKw: 50 },
        { ...asAlone, locationId: 'quay-2' },
      ],
      errors: [],
      totalLocations: 2,
    });
    for (const id of ['quay-1', 'quay-2']) {
      expect((await limitsOf(id)).profiles).toEqual([{ ...request, status: 'ACTIVE' }]);
    }
  });

  it("replaces a member's profile of the priority, and nothing else", async () => {
    const clusterId = await create(['quay-1', 'quay-2'], 10);
    const own = profile({ limitKw: 44, priority: 5 });
    await service.call('POST', '/locations/quay-1/schedules', own);
    const request = profile({ limitKw: 12, priority: 3 });
    const { result } = await schedule(clusterId, request);
    expect(result.applied.map(({ effectiveLimitKw }) => effectiveLimitKw)).toEqual([44, 12]);
    expect((await limitsOf('quay-1')).profiles).toMatchObject([request, own]);
    expect((await limitsOf('quay-2')).profiles).toMatchObject([request]);
  });

  it('reports each member that fails in errors, the envelope under its error key (4.1, 7)', async () => {
    const clusterId = await create(['closed', 'quay-1', 'shut', 'quay-2']);
    const { answer, result } = await schedule(clusterId, profile({ limitKw: 5, priority: 8 }));
    expect(result.totalLocations).toBe(4);
    expect(result.applied.map(({ locationId }) => locationId)).toEqual(['quay-1', 'quay-2']);
    expect(result.errors.map(({ locationId }) => locationId)).toEqual(['closed', 'shut']);
    for (const { error } of result.errors) {
      expect(Object.keys(error.error)).toEqual(['code', 'message', 'requestId']);
      expect(error.error).toMatchObject({
        code: 'TARGET_INACTIVE',
        requestId: answer.headers.get('x-request-id'),
      });
    }
    expect((await limitsOf('closed')).profiles).toEqual([]);
  });

  it('answers 200 with nothing applied where every member failed', async () => {
    const { result } = await schedule(await create(['closed', 'shut']), profile());
    expect(result).toMatchObject({ applied: [], errors: [{}, {}], totalLocations: 2 });
  });

  it('reaches all of 1,000 members', async () => {
    const { result } = await schedule(await create(THOUSAND, 500), profile({ limitKw: 2 }));
    expect(result.applied.map(({ locationId }) => locationId)).toEqual(THOUSAND);
    expect(result).toMatchObject({ errors: [], totalLocations: 1000 });
    expect((await limitsOf('of-many-999')).effectiveLimitKw).toBe(2);
  });

  it('is written before it is answered: a restart finds it on every member', async () => {
    const clusterId = await create(['quay-1', 'quay-2', 'twin']);
    const request = profile({ startsInMs: MINUTE_MS, limitKw: 17, priority: 10 });
    await schedule(clusterId, request);
    service = await service.restart();
    for (const id of ['quay-1', 'quay-2', 'twin']) {
      expect((await limitsOf(id)).profiles).toContainEqual({ ...request, status: 'SCHEDULED' });
    }
  });

  it('refuses an INACTIVE cluster: 400 CLUSTER_INACTIVE, and changes no member (3.2)', async () => {
    const clusterId = await create(['twin']);
    await service.call('PATCH', `/clusters/${clusterId}`, { status: 'INACTIVE' });
    const before = await limitsOf('twin');
    refusalOf(await service.call('POST', `/clusters/${clusterId}/schedules`, profile()), 'CLUSTER_INACTIVE');
    expect(await limitsOf('twin')).toEqual(before);
    await service.call('PATCH', `/clusters/${clusterId}`, { status: 'ACTIVE' });
    expect((await schedule(clusterId, profile({ limitKw: 13 }))).result.applied).toHaveLength(1);
  });

  it('refuses the body first, then an unknown cluster, then an inactive one', async () => {
    const clusterId = await create(['twin']);
    await service.call('PATCH', `/clusters/${clusterId}`, { status: 'INACTIVE' });
    const post = (id: string, request: object) => service.call('POST', `/clusters/${id}/schedules`, request);
    refusalOf(await post(clusterId, profile({ limitKw: 0 })), 'INVALID_REQUEST_BODY');
    refusalOf(await post('nothing', profile({ endsInMs: -1 })), 'INVALID_REQUEST_BODY');
    refusalOf(await post('nothing', profile()), 'CLUSTER_NOT_FOUND');
    refusalOf(await post(clusterId, profile()), 'CLUSTER_INACTIVE');
  });

  it('meets changes of the same cluster one after another: all members receive it or all have left', async () => {
    const clusterId = await create(['quay-1', 'quay-2', 'twin']);
    const request = profile({ limitKw: 3.5, priority: 9 });
    const [applied, removed] = await Promise.all([
      schedule(clusterId, request),
      service.call('DELETE', `/clusters/${clusterId}/locations/twin`),
    ]);
    expect(bodyOf(removed, clusterSchema).locationIds).toEqual(['quay-1', 'quay-2']);
    const told = applied.result.applied.map(({ locationId }) => locationId);
    const holds = (await limitsOf('twin')).profiles.some(({ limitKw }) => limitKw === 3.5);
    expect(told.includes('twin')).toBe(holds);
    expect(applied.result.totalLocations).toBe(told.length);
  });
});
