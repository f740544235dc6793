// The limit profile request (2.1) of endpoints 1, 2, 5 and 13: the same rules and messages for all of them.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clusterListSchema, clusterSchema } from '../../src/features/clusters/contract.js';
import { locationLimitsSchema, organizationLimitsSchema } from '../../src/features/profiles/contract.js';
import { bodyOf, refusalOf } from './answers.js';
import { HOUR_MS, MINUTE_MS, profile } from './profiles.js';
import {
  apiKeyOf,
  HARBOUR,
  RIVAL,
  type RunningService,
  runService,
  site,
  tenantWith,
} from './running-service.js';

let service: RunningService;
let paths: Readonly<Record<string, string>>;
beforeAll(async () => {
  service = await runService([tenantWith(HARBOUR, [site('quay-1')])]);
  const { clusterId } = bodyOf(
    await service.call('POST', '/clusters', { name: 'All', locationIds: ['quay-1'] }),
    clusterSchema,
    201,
  );
  paths = {
    connector: '/chargers/quay-1-a/connectors/1/schedules',
    location: '/locations/quay-1/schedules',
    organization: '/organizations/schedules',
    cluster: `/clusters/${clusterId}/schedules`,
  };
});
afterAll(() => service.stop());

const good = profile();
const INVALID: readonly (readonly [string, unknown, RegExp])[] = [
  ['no body', undefined, /startTime: required.*endTime: required.*limitKw: required/],
  ['null', 'null', /^body: /],
  ['a list', [good], /^body: /],
  ['text', '"profile"', /^body: /],
  ['broken JSON', '{"startTime":', /^body: .*JSON/],
  ['no startTime', { ...good, startTime: undefined }, /^startTime: required/],
  ['no endTime', { ...good, endTime: undefined }, /^endTime: required/],
  ['no limitKw', { ...good, limitKw: undefined }, /^limitKw: required/],
  ['a limitKw of 0', { ...good, limitKw: 0 }, /^limitKw: /],
  ['a negative limitKw', { ...good, limitKw: -0.001 }, /^limitKw: /],
  ['a limitKw that is text', { ...good, limitKw: '11' }, /^limitKw: /],
  ['a limitKw that is null', { ...good, limitKw: null }, /^limitKw: /],
  ['an infinite limitKw', JSON.stringify(good).replace('"limitKw":11', '"limitKw":1e999'), /^limitKw: /],
  ['a priority of 11', { ...good, priority: 11 }, /^priority: /],
  ['a priority of -1', { ...good, priority: -1 }, /^priority: /],
  ['half a priority', { ...good, priority: 1.5 }, /^priority: /],
  ['a priority that is text', { ...good, priority: '1' }, /^priority: /],
  ['a priority that is null', { ...good, priority: null }, /^priority: /],
  ['a startTime that is a number', { ...good, startTime: 1_700_000_000_000 }, /^startTime: /],
  ['a startTime without a time', { ...good, startTime: '2026-01-01' }, /^startTime: .*RFC 3339/],
  ['a startTime without an offset', { ...good, startTime: '2026-01-01T00:00:00' }, /^startTime: /],
  ['an endTime that is no instant', { ...good, endTime: 'tomorrow' }, /^endTime: /],
  ['an endTime in another offset', { ...good, endTime: '2099-01-01T00:00:00+01:00' }, /^endTime: /],
  ['an endTime in -00:00', { ...good, endTime: '2099-01-01T00:00:00-00:00' }, /^endTime: /],
  ['an endTime of 30 February', { ...good, endTime: '2099-02-30T00:00:00Z' }, /^endTime: /],
  ['an endTime in a 13th month', { ...good, endTime: '2099-13-01T00:00:00Z' }, /^endTime: /],
  ['an endTime with a space for the T', { ...good, endTime: '2099-01-01 00:00:00Z' }, /^endTime: /],
  [
    'an endTime before startTime',
    profile({ startsInMs: HOUR_MS, endsInMs: MINUTE_MS }),
    /^endTime: .*startTime/,
  ],
  ['an empty window', profile({ startsInMs: HOUR_MS, endsInMs: HOUR_MS }), /^endTime: .*startTime/],
  ['a window in the past', profile({ startsInMs: -HOUR_MS, endsInMs: -MINUTE_MS }), /^endTime: .*future/],
  ['two wrong fields', { ...good, limitKw: 0, priority: 12 }, /limitKw: .*priority: /],
];

describe.each(['connector', 'location', 'organization', 'cluster'])('a profile of a %s', (kind) => {
  it.each(INVALID)('refuses %s: 400 INVALID_REQUEST_BODY naming the field', async (_, body, message) => {
    const answer = await service.call('POST', paths[kind] ?? '', body);
    expect(refusalOf(answer, 'INVALID_REQUEST_BODY')).toMatch(message);
  });

  it('refuses a body that is not JSON: 415 UNSUPPORTED_MEDIA_TYPE', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/xml']) {
      const headers = { 'x-api-key': apiKeyOf(HARBOUR), 'content-type': type };
      const answer = await service.send('POST', paths[kind] ?? '', { headers, body: JSON.stringify(good) });
      expect(refusalOf(answer, 'UNSUPPORTED_MEDIA_TYPE')).toContain('application/json');
    }
  });

  it('refuses a body over 500 kB: 413 PAYLOAD_TOO_LARGE', async () => {
    const answer = await service.call('POST', paths[kind] ?? '', { ...good, padding: 'x'.repeat(500_001) });
    refusalOf(answer, 'PAYLOAD_TOO_LARGE');
  });

  it('ignores fields it does not know, a tenantUuid and a __proto__ among them (1, 5)', async () => {
    const text = JSON.stringify({ ...good, tenantUuid: RIVAL, locationId: 'elsewhere', status: 'EXPIRED' });
    const body = text.replace('{', '{"__proto__":{"limitKw":1,"admin":true},');
    const { body: answer, status } = await service.call('POST', paths[kind] ?? '', body);
    expect(status).toBe(200);
    expect(JSON.stringify(answer)).not.toContain(RIVAL);
    expect(JSON.stringify(answer)).not.toContain('elsewhere');
    expect(JSON.stringify(answer)).not.toContain('EXPIRED');
    expect(JSON.stringify(answer)).not.toContain('admin');
  });
});

describe('a refused profile', () => {
  it('left nothing behind but the good requests', async () => {
    const limits = bodyOf(await service.call('GET', '/locations/quay-1/limits'), locationLimitsSchema);
    expect(limits.profiles).toEqual([{ ...good, status: 'ACTIVE' }]);
    const own = bodyOf(await service.call('GET', '/organizations/limits'), organizationLimitsSchema);
    expect(own.profiles).toEqual([{ ...good, status: 'ACTIVE' }]);
    expect(bodyOf(await service.call('GET', '/clusters'), clusterListSchema).count).toBe(1);
  });
});
