// Unknown paths and methods, and malicious identifiers in paths.
import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clusterSchema } from '../../src/features/clusters/contract.js';
import { locationLimitsSchema } from '../../src/features/profiles/contract.js';
import { bodyOf, refusalOf } from './answers.js';
import { endpointsOn } from './endpoints.js';
import { profile } from './profiles.js';
import { apiKeyOf, HARBOUR, type RunningService, runService, site, tenantWith } from './running-service.js';

const LONGEST_ID = 'L'.repeat(128);
const ODD_ID = 'dock:7._-Z';
const HOSTILE = [
  '%2F',
  'quay-1%2F..%2Fquay-2',
  '%2e%2e',
  '..%2F..%2Fetc%2Fpasswd',
  '+',
  '%23',
  'quay-1%00',
  'quay%201',
  '%20quay-1',
  'quay-1%0A',
  "'%20or%201=1--",
  '%F0%9F%94%8C',
  '%E0%A4%A',
  '%',
  '__proto__',
  'constructor',
  'hasOwnProperty',
  'toString',
  'undefined',
  'null',
  '%7B%7D',
  '*',
  'Quay-1',
  'x'.repeat(129),
  'x'.repeat(300),
  'x'.repeat(8000),
];

let service: RunningService;
let clusterId: string;
beforeAll(async () => {
  service = await runService([
    tenantWith(
      HARBOUR,
      ['quay-1', 'quay-2', LONGEST_ID, ODD_ID].map((id) => site(id)),
    ),
  ]);
  const request = { name: 'A cluster', locationIds: ['quay-1', 'quay-2'] };
  ({ clusterId } = bodyOf(await service.call('POST', '/clusters', request), clusterSchema, 201));
});
afterAll(() => service.stop());

/** A request with its path exactly as given: fetch would normalize it. */
function raw(method: string, path: string, body?: string): Promise<{ status: number; code: string }> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(service.httpUrl);
    const headers = { 'x-api-key': apiKeyOf(HARBOUR), 'content-type': 'application/json' };
    const sent = httpRequest({ hostname, port, method, path: `/v1${path}`, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const answer: { error?: { code?: string } } = JSON.parse(Buffer.concat(chunks).toString());
        resolve({ status: response.statusCode ?? 0, code: answer.error?.code ?? '' });
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

const BODY = JSON.stringify(profile());
const PLACES: readonly (readonly [string, string, (id: string) => string, string?])[] = [
  ['LOCATION_NOT_FOUND', 'GET', (id) => `/locations/${id}/limits`],
  ['LOCATION_NOT_FOUND', 'POST', (id) => `/locations/${id}/schedules`, BODY],
  ['LOCATION_NOT_FOUND', 'PUT', (id) => `/locations/${id}/limit`, '{"limitKw":5}'],
  ['CHARGER_NOT_FOUND', 'POST', (id) => `/chargers/${id}/connectors/1/schedules`, BODY],
  ['CHARGER_NOT_FOUND', 'POST', (id) => `/chargers/quay-1-a/connectors/${id}/schedules`, BODY],
  ['LOCATION_NOT_FOUND', 'DELETE', (id) => `/locations/${id}/schedules/0`],
  ['CHARGER_NOT_FOUND', 'GET', (id) => `/chargers/${id}/connectors/1/history`],
  ['CHARGER_NOT_FOUND', 'GET', (id) => `/chargers/quay-1-a/connectors/${id}/history`],
  ['CHARGER_NOT_FOUND', 'DELETE', (id) => `/chargers/${id}/connectors/1/schedules/0`],
  ['CHARGER_NOT_FOUND', 'DELETE', (id) => `/chargers/quay-1-a/connectors/${id}/schedules/0`],
  ['CLUSTER_NOT_FOUND', 'GET', (id) => `/clusters/${id}`],
  ['CLUSTER_NOT_FOUND', 'PATCH', (id) => `/clusters/${id}`, '{"name":"Any"}'],
  ['CLUSTER_NOT_FOUND', 'DELETE', (id) => `/clusters/${id}`],
  ['CLUSTER_NOT_FOUND', 'POST', (id) => `/clusters/${id}/schedules`, BODY],
  ['CLUSTER_NOT_FOUND', 'DELETE', (id) => `/clusters/${id}/locations/quay-1`],
  ['LOCATION_NOT_FOUND', 'DELETE', (id) => `/clusters/${clusterId}/locations/${id}`],
];

describe('an identifier in a path', () => {
  it.each(HOSTILE)('that is %j is unknown, everywhere: 404, never a crash', async (id) => {
    for (const [code, method, pathOf, body] of PLACES) {
      expect(await raw(method, pathOf(id), body), `${method} ${pathOf('…')}`).toEqual({ status: 404, code });
    }
  });

  it.each(['%2e%2e', '..', '.'])('that is %j never leads to another endpoint', async (id) => {
    expect((await raw('GET', `/locations/${id}/limits`)).status).toBe(404);
    expect((await raw('GET', `/clusters/${clusterId}/locations/${id}`)).status).toBeGreaterThanOrEqual(404);
  });

  it.each([LONGEST_ID, ODD_ID])('of 1 to 128 characters of A-Za-z0-9._:- is one: %s', async (id) => {
    for (const written of [id, encodeURIComponent(id)]) {
      const answer = await service.call('GET', `/locations/${written}/limits`);
      expect(bodyOf(answer, locationLimitsSchema)).toMatchObject({ locationId: id });
    }
  });

  it('may be percent-encoded where it need not be', async () => {
    const answer = await service.call('GET', '/locations/%71uay%2D1/limits');
    expect(bodyOf(answer, locationLimitsSchema)).toMatchObject({ locationId: 'quay-1' });
  });
});

describe('a path', () => {
  it.each(['/', '/locations/quay-1/', '/nothing', '/clusters/', '/Clusters', '/locations/quay-1/limits/'])(
    'that is none of ours is 404 NOT_FOUND: %s',
    async (path) => {
      refusalOf(await service.call('GET', path), 'NOT_FOUND');
    },
  );

  const target = { locationId: 'quay-1', memberId: 'quay-2', controllerUuid: 'quay-1-a', clusterId: 'none' };
  // A new webhook or mail subscription needs two scopes, so the list of requests with one each leaves it out.
  const withTwo = ['/webhooks', '/mail-subscriptions'].map((path) => ({ method: 'POST', path }));
  const endpoints = [...endpointsOn(target), ...withTwo].map(({ method, path }) => ({
    method,
    path: path.replace(/\?.*/, ''),
  }));
  it.each([...new Set(endpoints.map(({ path }) => path))])(
    'of ours asked by another method is 405 METHOD_NOT_ALLOWED with Allow: %s',
    async (path) => {
      const known = [...new Set(endpoints.filter((each) => each.path === path).map(({ method }) => method))];
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'].filter(
        (m) => !known.includes(m),
      )) {
        const answer = await service.call(method, path);
        refusalOf(answer, 'METHOD_NOT_ALLOWED');
        const allowed = (answer.headers.get('allow') ?? '').split(', ');
        expect(allowed.filter((name) => name !== 'HEAD').sort()).toEqual(known.sort());
      }
    },
  );

  it('takes no notice of parameters it does not know', async () => {
    const answer = await service.call('GET', `/locations/quay-1/limits?tenantUuid=x&locationId=quay-2`);
    expect(bodyOf(answer, locationLimitsSchema)).toMatchObject({ locationId: 'quay-1' });
  });
});
