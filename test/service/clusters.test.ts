// Endpoints 7 to 12: clusters of locations under an optional cap.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  clusterDeletedSchema,
  clusterDetailSchema,
  clusterListSchema,
  clusterSchema,
} from '../../src/features/clusters/contract.js';
import { locationLimitsSchema } from '../../src/features/profiles/contract.js';
import { bodyOf, refusalOf } from './answers.js';
import { profile } from './profiles.js';
import {
  apiKeyOf,
  HARBOUR,
  RIVAL,
  type RunningService,
  runService,
  site,
  tenantWith,
} from './running-service.js';

const MANY = Array.from({ length: 20 }, (_, i) => `many-${i}`);

let service: RunningService;
beforeAll(async () => {
  service = await runService([
    tenantWith(HARBOUR, [
      site('quay-1', { permanentLimitKw: 50 }),
      site('quay-2', { permanentLimitKw: 30 }),
      site('closed', { status: 'INACTIVE', permanentLimitKw: 20 }),
      ...[...MANY, 'huge-0', 'huge-1'].map((id) => site(id)),
    ]),
    tenantWith(RIVAL, [site('rivals-only')]),
  ]);
});
afterAll(() => service.stop());

async function create(request: object) {
  return bodyOf(await service.call('POST', '/clusters', request), clusterSchema, 201);
}

async function detailOf(clusterId: string) {
  return bodyOf(await service.call('GET', `/clusters/${clusterId}`), clusterDetailSchema);
}

async function patch(clusterId: string, request: object) {
  return bodyOf(await service.call('PATCH', `/clusters/${clusterId}`, request), clusterSchema);
}

async function list() {
  return bodyOf(await service.call('GET', '/clusters'), clusterListSchema);
}

const BOTH = { name: 'Both quays', locationIds: ['quay-1', 'quay-2'], limitKw: 40 };

describe('7 POST /clusters', () => {
  it('answers 201 with the cluster, ACTIVE, and where it is (2.8)', async () => {
    const answer = await service.call('POST', '/clusters', BOTH);
    const { clusterId, createdAt, ...rest } = bodyOf(answer, clusterSchema, 201);
    expect(rest).toEqual({ ...BOTH, tenantUuid: HARBOUR, status: 'ACTIVE', updatedAt: createdAt });
    expect(answer.headers.get('location')).toBe(`/v1/clusters/${clusterId}`);
    expect(await detailOf(clusterId)).toMatchObject({ ...rest, clusterId, createdAt });
  });

  it.each([
    ['is left out', {}],
    ['is null', { limitKw: null }],
  ])('has no cap where limitKw %s', async (_, limit) => {
    expect(await create({ name: 'No cap', locationIds: ['quay-1'], ...limit })).toMatchObject({
      limitKw: null,
    });
  });

  it('folds members that are named twice, keeping their order', async () => {
    const { locationIds } = await create({ ...BOTH, locationIds: ['quay-2', 'quay-1', 'quay-2'] });
    expect(locationIds).toEqual(['quay-2', 'quay-1']);
  });

  it('takes its tenant and id from nowhere in the body (5)', async () => {
    const made = await create({ ...BOTH, tenantUuid: RIVAL, clusterId: 'mine', status: 'INACTIVE' });
    expect(made).toMatchObject({ tenantUuid: HARBOUR, status: 'ACTIVE' });
    expect(made.clusterId).not.toBe('mine');
  });

  it('takes an inactive location for a member, and a name of 200 characters', async () => {
    const made = await create({ name: 'n'.repeat(200), locationIds: ['closed'] });
    expect(made.locationIds).toEqual(['closed']);
  });

  it.each([
    ['no name', { ...BOTH, name: undefined }, /^name: required/],
    ['an empty name', { ...BOTH, name: '' }, /^name: /],
    ['a name of 201 characters', { ...BOTH, name: 'n'.repeat(201) }, /^name: /],
    ['a name that is a number', { ...BOTH, name: 7 }, /^name: /],
    ['no locationIds', { ...BOTH, locationIds: undefined }, /^locationIds: required/],
    ['no member', { ...BOTH, locationIds: [] }, /^locationIds: /],
    ['a member that is a number', { ...BOTH, locationIds: ['quay-1', 2] }, /^locationIds\.1: /],
    ['members that are text', { ...BOTH, locationIds: 'quay-1' }, /^locationIds: /],
    ['10,001 members', { ...BOTH, locationIds: Array(10_001).fill('quay-1') }, /^locationIds: /],
    ['a limitKw of 0', { ...BOTH, limitKw: 0 }, /^limitKw: /],
    ['a limitKw that is text', { ...BOTH, limitKw: '40' }, /^limitKw: /],
    ['a list', [BOTH], /^body: /],
  ])('refuses %s: 400 INVALID_REQUEST_BODY', async (_, body, message) => {
    expect(refusalOf(await service.call('POST', '/clusters', body), 'INVALID_REQUEST_BODY')).toMatch(message);
  });

  it.each(['nowhere', 'rivals-only', '', '../quay-1', '__proto__', 'x'.repeat(300)])(
    'creates nothing with a member %j: 404 LOCATION_NOT_FOUND',
    async (id) => {
      const before = (await list()).count;
      const answer = await service.call('POST', '/clusters', { ...BOTH, locationIds: ['quay-1', id] });
      refusalOf(answer, 'LOCATION_NOT_FOUND');
      expect((await list()).count).toBe(before);
    },
  );

  it('refuses a wrong body before it looks for members', async () => {
    const answer = await service.call('POST', '/clusters', { ...BOTH, name: '', locationIds: ['nowhere'] });
    refusalOf(answer, 'INVALID_REQUEST_BODY');
  });
});

describe('8 GET /clusters', () => {
  it('lists newest first with their count, those made at once too, and the same after a restart', async () => {
    const names = Array.from({ length: 12 }, (_, i) => `made at once ${i}`);
    const made = await Promise.all(names.map((name) => create({ ...BOTH, name })));
    const last = await create({ ...BOTH, name: 'last' });
    const before = await list();
    expect(before.count).toBe(before.clusters.length);
    expect(before.clusters[0]).toEqual(last);
    const instants = before.clusters.map(({ createdAt }) => createdAt);
    expect(new Set(instants).size).toBe(instants.length);
    expect(instants).toEqual([...instants].sort().reverse());
    for (const each of made) expect(before.clusters).toContainEqual(each);
    service = await service.restart();
    expect(await list()).toEqual(before);
  });

  it('keeps a changed cluster in its place', async () => {
    const { clusters } = await list();
    const changed = await patch(clusters[3]?.clusterId ?? '', { name: 'renamed' });
    expect((await list()).clusters[3]).toEqual(changed);
  });
});

describe('9 GET /clusters/{clusterId}', () => {
  it('adds the limits of members under the cap, in proportion to their effective limits (2.8)', async () => {
    const { clusterId } = await create(BOTH);
    expect((await detailOf(clusterId)).liveStatus).toEqual({
      actualTotalKw: 0,
      clusterLimitKw: 40,
      sumLocationLimits: 80,
      withinLimit: true,
      locations: [
        { locationId: 'quay-1', setLimitKw: 50, effectiveLimitKw: 25, actualKw: 0 },
        { locationId: 'quay-2', setLimitKw: 30, effectiveLimitKw: 15, actualKw: 0 },
      ],
    });
  });

  it('never raises a member above its effective limit: scale is at most 1', async () => {
    const { clusterId } = await create({ ...BOTH, limitKw: 1000 });
    const { liveStatus } = await detailOf(clusterId);
    expect(liveStatus.locations.map(({ effectiveLimitKw }) => effectiveLimitKw)).toEqual([50, 30]);
  });

  it('has no cap if there is none: clusterLimitKw null, withinLimit true', async () => {
    const { clusterId } = await create({ ...BOTH, limitKw: null });
    const { liveStatus } = await detailOf(clusterId);
    expect(liveStatus).toMatchObject({ clusterLimitKw: null, sumLocationLimits: 80, withinLimit: true });
    expect(liveStatus.locations.map(({ effectiveLimitKw }) => effectiveLimitKw)).toEqual([50, 30]);
  });

  it('computes each cluster on its own for a location in several, and leaves its own limits alone', async () => {
    const half = await create({ name: 'half', locationIds: ['many-0'], limitKw: 25 });
    const tenth = await create({ name: 'tenth', locationIds: ['many-0', 'many-1'], limitKw: 10 });
    const shareIn = async (clusterId: string) =>
      (await detailOf(clusterId)).liveStatus.locations[0]?.effectiveLimitKw;
    expect([await shareIn(half.clusterId), await shareIn(tenth.clusterId)]).toEqual([25, 5]);
    const answer = await service.call('GET', '/locations/many-0/limits');
    expect(bodyOf(answer, locationLimitsSchema)).toMatchObject({ effectiveLimitKw: 50 });
  });

  it('follows the profiles of its members at once', async () => {
    const { clusterId } = await create({ name: 'follows', locationIds: ['many-2', 'many-3'], limitKw: 30 });
    await service.call('POST', '/locations/many-2/schedules', profile({ limitKw: 10 }));
    expect((await detailOf(clusterId)).liveStatus).toMatchObject({
      sumLocationLimits: 60,
      locations: [
        { setLimitKw: 10, effectiveLimitKw: 5 },
        { setLimitKw: 50, effectiveLimitKw: 25 },
      ],
    });
  });

  it('adds up members at the highest limit there is', async () => {
    const { clusterId } = await create({ name: 'Huge', locationIds: ['huge-0', 'huge-1'], limitKw: 10 });
    for (const id of ['huge-0', 'huge-1']) {
      await service.call('PUT', `/locations/${id}/limit`, { limitKw: 1_000_000 });
    }
    expect((await detailOf(clusterId)).liveStatus.sumLocationLimits).toBe(2_000_000);
  });

  it('has no cluster that does not exist: 404 CLUSTER_NOT_FOUND', async () => {
    for (const id of ['nothing', 'new', '__proto__', 'x'.repeat(300)]) {
      refusalOf(await service.call('GET', `/clusters/${id}`), 'CLUSTER_NOT_FOUND');
    }
  });
});

describe('10 PATCH /clusters/{clusterId}', () => {
  it.each([
    ['name', { name: 'Another name' }],
    ['limitKw', { limitKw: 12.5 }],
    ['limitKw to null, which removes the cap', { limitKw: null }],
    ['locationIds', { locationIds: ['closed', 'quay-2', 'closed'] }, { locationIds: ['closed', 'quay-2'] }],
    ['status', { status: 'INACTIVE' }],
    [
      'a field it knows beside others',
      { tenantUuid: RIVAL, clusterId: 'x', createdAt: 'never', name: 'Known' },
      { name: 'Known' },
    ],
  ])('changes %s and no other field', async (_, request, change: object = request) => {
    const { updatedAt: before, ...made } = await create(BOTH);
    const { updatedAt, ...changed } = await patch(made.clusterId, request);
    expect(changed).toEqual({ ...made, ...change });
    expect(updatedAt >= before).toBe(true);
    const { liveStatus: _live, ...read } = await detailOf(made.clusterId);
    expect(read).toEqual({ ...changed, updatedAt });
  });

  it('keeps the changes over a restart', async () => {
    const { clusterId } = await create(BOTH);
    const changed = await patch(clusterId, {
      name: 'Kept',
      limitKw: null,
      locationIds: ['quay-2', 'many-4'],
    });
    service = await service.restart();
    expect(await detailOf(clusterId)).toMatchObject(changed);
  });

  it.each([
    ['a null name', { name: null }, /^name: /],
    ['an empty name', { name: '' }, /^name: /],
    ['a limitKw of 0', { limitKw: 0 }, /^limitKw: /],
    ['a status that is none', { status: 'PAUSED' }, /^status: /],
    ['a status in small letters', { status: 'inactive' }, /^status: /],
    ['null for members', { locationIds: null }, /^locationIds: /],
    ['a member that is null', { locationIds: [null] }, /^locationIds\.0: /],
    ['a list', [], /^body: /],
  ])('refuses %s: 400 INVALID_REQUEST_BODY, and changes nothing', async (_, body, message) => {
    const made = await create(BOTH);
    const answer = await service.call('PATCH', `/clusters/${made.clusterId}`, body);
    expect(refusalOf(answer, 'INVALID_REQUEST_BODY')).toMatch(message);
    expect(await detailOf(made.clusterId)).toMatchObject(made);
  });

  it('never leaves a cluster without members: 400 CLUSTER_EMPTY', async () => {
    const made = await create(BOTH);
    const answer = await service.call('PATCH', `/clusters/${made.clusterId}`, { locationIds: [] });
    refusalOf(answer, 'CLUSTER_EMPTY');
    expect(await detailOf(made.clusterId)).toMatchObject(made);
  });

  it('takes no member of another tenant: 404 LOCATION_NOT_FOUND, and changes nothing else either', async () => {
    const made = await create(BOTH);
    for (const id of ['rivals-only', 'nowhere']) {
      const request = { name: 'Half done', locationIds: ['quay-1', id] };
      refusalOf(await service.call('PATCH', `/clusters/${made.clusterId}`, request), 'LOCATION_NOT_FOUND');
    }
    expect(await detailOf(made.clusterId)).toMatchObject(made);
  });

  it('refuses the body before it looks for the cluster', async () => {
    refusalOf(await service.call('PATCH', '/clusters/nothing', { limitKw: -1 }), 'INVALID_REQUEST_BODY');
    refusalOf(await service.call('PATCH', '/clusters/nothing', { limitKw: 1 }), 'CLUSTER_NOT_FOUND');
  });

  it('does not enforce the cap of an INACTIVE cluster (scale 1), still reports, and goes back (3.2)', async () => {
    const { clusterId } = await create(BOTH);
    const shares = async () =>
      (await detailOf(clusterId)).liveStatus.locations.map(({ effectiveLimitKw }) => effectiveLimitKw);
    await patch(clusterId, { status: 'INACTIVE' });
    expect(await shares()).toEqual([50, 30]);
    expect((await detailOf(clusterId)).liveStatus).toMatchObject({
      clusterLimitKw: 40,
      sumLocationLimits: 80,
    });
    await patch(clusterId, { status: 'ACTIVE' });
    expect(await shares()).toEqual([25, 15]);
  });

  it('applies concurrent changes of different fields one after another: none is lost', async () => {
    const { clusterId } = await create(BOTH);
    await Promise.all([
      patch(clusterId, { name: 'Together' }),
      patch(clusterId, { limitKw: 7 }),
      patch(clusterId, { status: 'INACTIVE' }),
      patch(clusterId, { locationIds: ['quay-2'] }),
    ]);
    expect(await detailOf(clusterId)).toMatchObject({
      name: 'Together',
      limitKw: 7,
      status: 'INACTIVE',
      locationIds: ['quay-2'],
    });
  });
});

describe('11 DELETE /clusters/{clusterId}', () => {
  it('deletes the cluster, leaves its members alone, and has it no more, after a restart either', async () => {
    const { clusterId } = await create({ name: 'Gone', locationIds: ['many-5'], limitKw: 1 });
    const limits = async () =>
      bodyOf(await service.call('GET', '/locations/many-5/limits'), locationLimitsSchema);
    await service.call('POST', '/locations/many-5/schedules', profile({ limitKw: 6 }));
    const before = await limits();
    const answer = await service.call('DELETE', `/clusters/${clusterId}`);
    expect(bodyOf(answer, clusterDeletedSchema)).toEqual({ deleted: true, clusterId });
    expect(await limits()).toEqual(before);
    service = await service.restart();
    refusalOf(await service.call('GET', `/clusters/${clusterId}`), 'CLUSTER_NOT_FOUND');
    refusalOf(await service.call('DELETE', `/clusters/${clusterId}`), 'CLUSTER_NOT_FOUND');
    refusalOf(await service.call('PATCH', `/clusters/${clusterId}`, { name: 'Late' }), 'CLUSTER_NOT_FOUND');
    expect((await list()).clusters.map((cluster) => cluster.clusterId)).not.toContain(clusterId);
  });

  it('is deleted once, however many ask at the same time', async () => {
    const { clusterId } = await create(BOTH);
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => service.call('DELETE', `/clusters/${clusterId}`)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(404)]);
  });
});

describe('12 DELETE /clusters/{clusterId}/locations/{locationId}', () => {
  it('answers with the cluster without the location', async () => {
    const { updatedAt: _before, ...made } = await create(BOTH);
    const answer = await service.call('DELETE', `/clusters/${made.clusterId}/locations/quay-1`);
    const { updatedAt: _after, ...left } = bodyOf(answer, clusterSchema);
    expect(left).toEqual({ ...made, locationIds: ['quay-2'] });
  });

  it('gives the share of the removed to the others', async () => {
    const { clusterId } = await create(BOTH);
    await service.call('DELETE', `/clusters/${clusterId}/locations/quay-1`);
    expect((await detailOf(clusterId)).liveStatus).toMatchObject({
      sumLocationLimits: 30,
      locations: [{ locationId: 'quay-2', effectiveLimitKw: 30 }],
    });
  });

  it('never removes the last: 400 CLUSTER_EMPTY', async () => {
    const made = await create({ ...BOTH, locationIds: ['quay-1'] });
    refusalOf(await service.call('DELETE', `/clusters/${made.clusterId}/locations/quay-1`), 'CLUSTER_EMPTY');
    expect(await detailOf(made.clusterId)).toMatchObject(made);
  });

  it('has no member that is none: 404 LOCATION_NOT_FOUND, an existing location too', async () => {
    const { clusterId } = await create(BOTH);
    for (const id of ['closed', 'nowhere', 'rivals-only', '__proto__', '%2F', '..%2Fquay-1']) {
      refusalOf(await service.call('DELETE', `/clusters/${clusterId}/locations/${id}`), 'LOCATION_NOT_FOUND');
    }
    refusalOf(await service.call('DELETE', '/clusters/nothing/locations/quay-1'), 'CLUSTER_NOT_FOUND');
  });

  it('removes 20 members asked for at once down to exactly one, refused with CLUSTER_EMPTY', async () => {
    const { clusterId } = await create({ name: 'Raced', locationIds: MANY });
    const answers = await Promise.all(
      MANY.map((id) => service.call('DELETE', `/clusters/${clusterId}/locations/${id}`)),
    );
    const sizes = answers
      .filter(({ status }) => status === 200)
      .map((answer) => bodyOf(answer, clusterSchema).locationIds.length);
    expect(sizes.sort((a, b) => a - b)).toEqual(Array.from({ length: 19 }, (_, i) => i + 1));
    const refused = answers.filter(({ status }) => status !== 200);
    expect(refused).toHaveLength(1);
    for (const answer of refused) refusalOf(answer, 'CLUSTER_EMPTY');
    expect((await detailOf(clusterId)).locationIds).toHaveLength(1);
    service = await service.restart();
    expect((await detailOf(clusterId)).locationIds).toHaveLength(1);
  });
});

describe('ETag and If-Match (RFC 9110), an extension', () => {
  const tagOf = async (clusterId: string) =>
    String((await service.call('GET', `/clusters/${clusterId}`)).headers.get('etag'));
  const change = (method: string, path: string, ifMatch: string, body?: object) =>
    service.send(method, path, {
      headers: { 'x-api-key': apiKeyOf(HARBOUR), 'if-match': ifMatch },
      ...(body && { body }),
    });

  it('has the same tag at every answer about the cluster, until a change of it', async () => {
    const made = await service.call('POST', '/clusters', BOTH);
    const path = `/clusters/${made.body.clusterId}`;
    const first = await tagOf(String(made.body.clusterId));
    expect(first).toMatch(/^"[!#-~]+"$/);
    expect(made.headers.get('etag')).toBe(first);
    await service.call('PUT', '/locations/quay-1/limit', { limitKw: 49 });
    expect(await tagOf(String(made.body.clusterId))).toBe(first);
    const tags = [first];
    for (const body of [
      { name: 'A' },
      { limitKw: null },
      { status: 'INACTIVE' },
      { locationIds: ['quay-2', 'quay-1'] },
    ]) {
      const patched = await service.call('PATCH', path, body);
      tags.push(String(patched.headers.get('etag')));
      expect(await tagOf(String(made.body.clusterId))).toBe(tags.at(-1));
    }
    const removed = await service.call('DELETE', `${path}/locations/quay-1`);
    tags.push(String(removed.headers.get('etag')));
    expect(new Set(tags).size).toBe(6);
    const other = await service.call('POST', '/clusters', BOTH);
    expect(tags).not.toContain(other.headers.get('etag'));
  });

  it('refuses a change of another state with 412, and changes nothing', async () => {
    const { clusterId } = await create(BOTH);
    const path = `/clusters/${clusterId}`;
    const stale = await tagOf(clusterId);
    const members = ['quay-1'];
    expect((await change('PATCH', path, stale, { name: 'Mine' })).status).toBe(200);
    const changes = [
      ['PATCH', path, { locationIds: members }],
      ['DELETE', path],
      ['DELETE', `${path}/locations/quay-1`],
    ] as const;
    const before = await detailOf(clusterId);
    for (const tag of [stale, '"other"', `W/${await tagOf(clusterId)}`, '""'])
      for (const [method, at, body] of changes) {
        const answer = await change(method, at, tag, body);
        expect(answer.status).toBe(412);
        expect(refusalOf(answer, 'PRECONDITION_FAILED')).toMatch(/^If-Match: .*read it again/);
      }
    for (const tag of ['abc', '', '"a" "b"', '*, "a"', '"a"b'])
      for (const [method, at, body] of changes)
        expect(refusalOf(await change(method, at, tag, body), 'INVALID_REQUEST_BODY')).toMatch(/^If-Match: /);
    expect(await detailOf(clusterId)).toEqual(before);
    expect(
      (await change('DELETE', `${path}/locations/quay-1`, `"other" , ${await tagOf(clusterId)}`)).status,
    ).toBe(200);
    expect((await change('DELETE', path, '*')).status).toBe(200);
    refusalOf(await change('DELETE', path, '*'), 'CLUSTER_NOT_FOUND');
  });

  it('lets one of many changes of the same state succeed', async () => {
    const { clusterId } = await create(BOTH);
    const tag = await tagOf(clusterId);
    const names = Array.from({ length: 10 }, (_, nth) => `Name ${nth}`);
    const answers = await Promise.all(
      names.map((name) => change('PATCH', `/clusters/${clusterId}`, tag, { name })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(412)]);
    const [won] = answers.filter(({ status }) => status === 200);
    expect(await detailOf(clusterId)).toMatchObject({ name: won?.body.name });
  });
});
