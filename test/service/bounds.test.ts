// Bounds that the contract leaves open, with messages that a caller understands, for every number and instant.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clusterSchema } from '../../src/features/clusters/contract.js';
import { locationTimelineSchema } from '../../src/features/locations/contract.js';
import { locationLimitsSchema } from '../../src/features/profiles/contract.js';
import { bodyOf, refusalOf } from './answers.js';
import { type OperatedService, runOperatedService } from './operator-answers.js';
import { profileAt } from './profiles.js';
import { HARBOUR, site, tenantWith } from './running-service.js';

const KW = 'must be a number greater than 0 and at most 1000000, in kW';
const INSTANT = 'must be an RFC 3339 date-time in UTC from 1970 to 9999, such as 2026-06-01T17:00:00Z';

let service: OperatedService;
let clusterId: string;
beforeAll(async () => {
  service = await runOperatedService([tenantWith(HARBOUR, [site('quay-1'), site('quay-2')])]);
  const created = await service.call('POST', '/clusters', {
    name: 'Both',
    locationIds: ['quay-1', 'quay-2'],
  });
  ({ clusterId } = bodyOf(created, clusterSchema, 201));
});
afterAll(() => service.stop());

const SCHEDULES = '/locations/quay-1/schedules';
const profile = (over: object) => ({ ...profileAt(service.clock.nowMs(), {}), ...over });

describe('A limit', () => {
  it.each([
    [1_000_000.001, `${KW}, not 1000000.001`],
    [1.7e308, `${KW}, not 1.7e+308`],
    [0, `${KW}, not 0`],
    [-3, `${KW}, not -3`],
    ['11', `${KW}, not text`],
    [null, `${KW}, not null`],
    [true, `${KW}, not true`],
    [[11], `${KW}, not a list`],
    [{ kw: 11 }, `${KW}, not a group of fields`],
    [undefined, `required: ${KW}`],
  ])('of %j is refused everywhere, with its rule in words', async (limitKw, message) => {
    const answers = [
      await service.call('POST', SCHEDULES, profile({ limitKw })),
      await service.call('PUT', '/locations/quay-1/limit', { limitKw }),
      await service.call('POST', '/chargers/quay-1-a/connectors/1/schedules', profile({ limitKw })),
      await service.call('POST', '/organizations/schedules', profile({ limitKw })),
      await service.call('POST', `/clusters/${clusterId}/schedules`, profile({ limitKw })),
    ];
    for (const answer of answers)
      expect(refusalOf(answer, 'INVALID_REQUEST_BODY')).toBe(`limitKw: ${message}`);
  });

  it('of a cluster is bounded too, and may be null', async () => {
    const change = await service.call('PATCH', `/clusters/${clusterId}`, { limitKw: 2e6 });
    expect(refusalOf(change, 'INVALID_REQUEST_BODY')).toBe(`limitKw: ${KW}, or null for no cap, not 2000000`);
    const creation = { name: 'Huge', locationIds: ['quay-1'], limitKw: 1e300 };
    refusalOf(await service.call('POST', '/clusters', creation), 'INVALID_REQUEST_BODY');
    expect((await service.call('PATCH', `/clusters/${clusterId}`, { limitKw: null })).status).toBe(200);
  });

  it('at its highest still shares a cap among members', async () => {
    for (const id of ['quay-1', 'quay-2'])
      await service.call('PUT', `/locations/${id}/limit`, { limitKw: 1_000_000 });
    await service.call('PATCH', `/clusters/${clusterId}`, { limitKw: 100 });
    const { body } = await service.call('GET', `/clusters/${clusterId}`);
    expect(body.liveStatus).toMatchObject({
      locations: [{ effectiveLimitKw: 50 }, { effectiveLimitKw: 50 }],
    });
  });
});

describe('An instant', () => {
  it.each([
    '0001-01-01T00:00:00Z',
    '1969-12-31T23:59:59.999Z',
    '10000-01-01T00:00:00Z',
    '+010000-01-01T00:00:00Z',
  ])('outside 1970 to 9999 is refused wherever one comes in: %s', async (instant) => {
    const written = encodeURIComponent(instant);
    expect(
      refusalOf(
        await service.call('POST', SCHEDULES, profile({ startTime: instant })),
        'INVALID_REQUEST_BODY',
      ),
    ).toBe(`startTime: ${INSTANT}`);
    for (const [field, path] of [
      ['at', 'limits'],
      ['from', 'timeline'],
      ['to', 'timeline'],
      ['from', 'history'],
      ['to', 'power'],
      ['from', 'alarms'],
    ] as const) {
      const answer = await service.call('GET', `/locations/quay-1/${path}?${field}=${written}`);
      expect(refusalOf(answer, 'INVALID_REQUEST_BODY')).toBe(`${field}: ${INSTANT} (query parameter)`);
    }
  });

  it('may be the first and the last there are, and no answer names a later one', async () => {
    const window = {
      startTime: '1970-01-01T00:00:00.000Z',
      endTime: '9999-12-31T23:59:59.999Z',
      limitKw: 33,
    };
    expect((await service.call('POST', SCHEDULES, window)).status).toBe(200);
    const late = await service.read(
      '/locations/quay-1/limits?at=9999-12-31T23:59:59.999Z',
      locationLimitsSchema,
    );
    expect(late.profiles).toMatchObject([{ status: 'EXPIRED' }]);
    const timeline = await service.read(
      '/locations/quay-1/timeline?from=9999-12-31T12:00:00Z',
      locationTimelineSchema,
    );
    expect(timeline).toMatchObject({ to: '9999-12-31T23:59:59.999Z' });
    expect(JSON.stringify(timeline)).not.toContain('+0');
    refusalOf(
      await service.call('GET', '/locations/quay-1/timeline?from=9999-12-31T23:59:59.999Z'),
      'INVALID_REQUEST_BODY',
    );
  });
});

describe('A number in a query', () => {
  it.each(['0x10', '1e2', '+5', '-5', ' 5', '5 ', '5.0', '', '٥', '0b1', '1_0', '99999999999'])(
    'is written in decimal digits alone: limit=%s is refused',
    async (text) => {
      const query = encodeURIComponent(text);
      for (const path of ['/locations', '/alarms', '/locations/quay-1/history']) {
        const answer = await service.call('GET', `${path}?limit=${query}`);
        expect(refusalOf(answer, 'INVALID_REQUEST_BODY')).toMatch(
          /^limit: must be an integer from 1 to 1000/,
        );
      }
      const answer = await service.call('GET', `/locations/quay-1/power?step=${query}`);
      expect(refusalOf(answer, 'INVALID_REQUEST_BODY')).toMatch(
        /^step: must be a multiple of 60 from 60 to 86400/,
      );
    },
  );
});

describe('PATCH of a cluster', () => {
  it.each([undefined, {}, { colour: 'red' }])('that changes nothing is refused: %j', async (change) => {
    const answer = await service.call('PATCH', `/clusters/${clusterId}`, change);
    expect(refusalOf(answer, 'INVALID_REQUEST_BODY')).toBe(
      'body: must have at least one of name, limitKw, locationIds and status',
    );
  });

  it.each([
    [{ name: '' }, 'name: must be text of 1 to 200 characters'],
    [{ name: 7 }, 'name: must be text of 1 to 200 characters, not 7'],
    [{ status: 'active' }, 'status: must be ACTIVE or INACTIVE'],
    [{ locationIds: 'quay-1' }, 'locationIds: must be a list of 1 to 10,000 ids of locations, not text'],
    [
      { locationIds: Array(10_001).fill('quay-1') },
      'locationIds: must be a list of 1 to 10,000 ids of locations, not of 10001',
    ],
    [{ locationIds: [7] }, 'locationIds.0: must be the id of a location, not 7'],
    [[], 'body: must be a group of fields: { … }, not a list'],
    ['"text"', 'body: must be a group of fields: { … }, not text'],
  ])('has the rule for %j in plain words', async (change, message) => {
    const answer = await service.call('PATCH', `/clusters/${clusterId}`, change);
    expect(refusalOf(answer, 'INVALID_REQUEST_BODY')).toBe(message);
  });

  it('counts a known field beside an unknown one', async () => {
    const answer = await service.call('PATCH', `/clusters/${clusterId}`, { colour: 'red', name: 'Renamed' });
    expect(bodyOf(answer, clusterSchema)).toMatchObject({ name: 'Renamed' });
  });
});

describe('A webhook', () => {
  const FORM = 'https://… without a user, password or fragment, of at most 2000 characters';

  it.each([
    [{}, `url: required: must be ${FORM}`],
    [{ url: 7 }, `url: must be ${FORM}, not 7`],
    [{ url: 'no address' }, `url: must be ${FORM}`],
    [
      { url: 'https://example.com/', types: [] },
      'types: must be a list of at least one type of event, not of 0',
    ],
  ])('has the rule for %j once, in plain words', async (body, message) => {
    const answer = await service.call('POST', '/webhooks', body);
    expect(refusalOf(answer, 'INVALID_REQUEST_BODY')).toBe(message);
  });
});

describe('A query', () => {
  it.each([
    ['/stream?events=all', /^events: must be one of live, logged \(query parameter\)$/],
    [
      '/locations/quay-1/timeline?from=2030-06-01T17:00:00+00:00',
      /^from: must be .*; write \+ as %2B \(query parameter\)$/,
    ],
  ])('has the rule for %s in plain words', async (path, message) => {
    expect(refusalOf(await service.call('GET', path), 'INVALID_REQUEST_BODY')).toMatch(message);
  });
});

describe('An unknown id', () => {
  it.each([
    ['/locations/nope/limits', 'LOCATION_NOT_FOUND', 'No such location: nope; GET /v1/locations has all'],
    ['/clusters/nope', 'CLUSTER_NOT_FOUND', 'No such cluster: nope; GET /v1/clusters has all'],
  ] as const)('of %s is answered with the list of all', async (path, code, message) => {
    expect(refusalOf(await service.call('GET', path), code)).toBe(message);
  });
});

describe('A priority', () => {
  it.each([
    [11, 'not 11'],
    [1.5, 'not 1.5'],
    ['1', 'not text'],
    [null, 'not null'],
  ])('of %j is refused in plain words', async (priority, what) => {
    const answer = await service.call('POST', SCHEDULES, profile({ priority }));
    expect(refusalOf(answer, 'INVALID_REQUEST_BODY')).toBe(
      `priority: must be a whole number from 0 to 10, ${what}`,
    );
  });
});
