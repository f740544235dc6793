// Section 5 for every endpoint: valid credentials, their duration, and the rights of each scope.
import { chmodSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TenantUuid } from '../../machines/values/ids.js';
import { createVirtualClock } from '../../sim/virtual-clock.js';
import { clusterSchema } from '../../src/features/clusters/contract.js';
import { locationLimitsSchema } from '../../src/features/profiles/contract.js';
import { tokenErrorSchema, tokenResponseSchema } from '../../src/features/tokens/contract.js';
import type { ProvisionedTenant } from '../../src/ports/administration.js';
import { SCOPES, type Scope } from '../../src/ports/records.js';
import { formatApiKey, hashSecret } from '../../src/secrets.js';
import { healthSchema } from '../../src/wire/health.js';
import { bodyOf, refusalOf } from './answers.js';
import { type EndpointCase, endpointsOn, titleOf } from './endpoints.js';
import { HOUR_MS, profileAt } from './profiles.js';
import {
  type Answer,
  apiKeyOf,
  HARBOUR,
  type RequestParts,
  RIVAL,
  type RunningService,
  runService,
  silentLog,
  site,
  tenantWith,
} from './running-service.js';

const NOBODY = '9c0a1a52-3c1d-4f77-b7a4-2f6a0c9d8e01' as TenantUuid;
const clock = createVirtualClock(Date.parse('2026-06-01T12:00:00.250Z'));
const KEY_EXPIRES_AT_MS = clock.nowMs() + HOUR_MS;

function keyWith(keyId: string, scopes: readonly Scope[], expiresAtMs: number | null = null) {
  const secret = 'anotherSecretOfThisTenant';
  return {
    text: formatApiKey(keyId, secret),
    record: { id: keyId, secretHash: hashSecret(secret), scopes, expiresAtMs },
  };
}

const READER = keyWith('reader00', ['locations:read']);
const CLOSED_OUT = keyWith('closed00', ['org:write']);
const SHORT_LIVED = keyWith('passing0', SCOPES, KEY_EXPIRES_AT_MS);
const LIMITED_CLIENT = { id: 'limited-client', scopes: ['clusters:read', 'locations:read'] as Scope[] };

function harbour(): ProvisionedTenant {
  const tenant = tenantWith(HARBOUR, [
    site('quay-1'),
    site('quay-2'),
    site('closed', { status: 'INACTIVE' }),
  ]);
  return {
    ...tenant,
    apiKeys: [...tenant.apiKeys, READER.record, SHORT_LIVED.record],
    oauthClients: [
      ...tenant.oauthClients,
      { ...LIMITED_CLIENT, secretHash: hashSecret('limited secret: +%') },
    ],
  };
}

let service: RunningService;
let clusterId: string;
beforeAll(async () => {
  const nobody = tenantWith(NOBODY, [site('quay-1'), site('quay-2')]);
  const withoutFeature = { ...nobody, features: [], apiKeys: [...nobody.apiKeys, CLOSED_OUT.record] };
  const tenants = [harbour(), tenantWith(RIVAL, [site('quay-1')]), withoutFeature];
  service = await runService(tenants, { clock }, { HEADROOM_AUTH_FAILURES_PER_MIN: '6000' });
  ({ clusterId } = await newCluster());
});
afterAll(() => service.stop());

async function newCluster() {
  const request = { name: 'A cluster', locationIds: ['quay-1', 'quay-2'] };
  return bodyOf(await service.call('POST', '/clusters', request), clusterSchema, 201);
}

/** Every endpoint, with requests that succeed now. */
function endpoints(cluster = clusterId): readonly EndpointCase[] {
  const target = { locationId: 'quay-1', memberId: 'quay-2', controllerUuid: 'quay-1-a' };
  return endpointsOn({ ...target, clusterId: cluster }).map((each) =>
    each.body && 'startTime' in each.body ? { ...each, body: profileAt(clock.nowMs()) } : each,
  );
}

function knock({ method, path, body }: EndpointCase, headers: RequestParts['headers'] = {}): Promise<Answer> {
  return service.send(method, path, { headers, body });
}

async function token(scope?: string, client = `client-${HARBOUR.slice(0, 8)}`, secret = 'client secret') {
  const body = { grant_type: 'client_credentials', client_id: client, client_secret: secret, scope };
  return bodyOf(await service.send('POST', '/oauth/token', { body }), tokenResponseSchema);
}

async function bearer(scope?: string): Promise<Record<string, string>> {
  return { authorization: `Bearer ${(await token(scope)).access_token}` };
}

const CASES = endpointsOn({
  locationId: 'quay-1',
  memberId: 'quay-2',
  controllerUuid: 'quay-1-a',
  clusterId: '{clusterId}',
}).map((each) => ({ title: titleOf(each), number: each.number }));

describe.each(CASES)('$title', ({ number }) => {
  const here = (cluster?: string): EndpointCase => {
    const found = endpoints(cluster).find((each) => each.number === number);
    if (found === undefined) throw new Error(`there is no endpoint ${number}`);
    return found;
  };

  it('needs a credential: 401 UNAUTHORIZED, the same for a missing and any wrong one (5.1, 5.4)', async () => {
    const { access_token } = await token();
    const wrong: readonly RequestParts['headers'][] = [
      {},
      { 'x-api-key': '' },
      { 'x-api-key': 'nonsense' },
      { 'x-api-key': apiKeyOf(HARBOUR).slice(0, -1) },
      { 'x-api-key': apiKeyOf(HARBOUR).replace(HARBOUR.slice(0, 8), RIVAL.slice(0, 8)) },
      { 'x-api-key': `${apiKeyOf(HARBOUR)}, ${apiKeyOf(HARBOUR)}` },
      { authorization: `Bearer ${apiKeyOf(HARBOUR)}` },
      { authorization: `Bearer ${access_token.slice(0, -4)}AAAA` },
      { authorization: `Basic ${access_token}` },
      { authorization: 'Bearer' },
    ];
    // Guesses are rate-limited: a second allows a hundred more.
    clock.advance(1000);
    const messages = new Set<string>();
    for (const headers of wrong) {
      const answer = await knock(here(), headers);
      messages.add(refusalOf(answer, 'UNAUTHORIZED'));
      expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer /);
    }
    expect(messages.size).toBe(1);
  });

  it('is opened by its own scope alone, and closed by the lack of it: 403 INSUFFICIENT_SCOPE (5.6)', async () => {
    const { scope, schema, status } = here();
    const others = SCOPES.filter((name) => name !== scope).join(' ');
    const nothingIsRead = { ...here(), ...(here().body && { body: {} }) };
    refusalOf(await knock(nothingIsRead, await bearer(others)), 'INSUFFICIENT_SCOPE');
    const fresh = (await newCluster()).clusterId;
    bodyOf(await knock(here(fresh), await bearer(scope)), schema, status);
  });

  it('is closed to a tenant without the feature, at any request: 403 FEATURE_NOT_ENABLED (5.5)', async () => {
    for (const body of [here().body, here().body && { limitKw: 'wrong' }]) {
      const request = { ...here(), ...(body && { body }) };
      refusalOf(await knock(request, { 'x-api-key': apiKeyOf(NOBODY) }), 'FEATURE_NOT_ENABLED');
    }
  });
});

describe('the order of checks (decisions)', () => {
  const path = '/locations/closed/schedules';
  it('is credential, feature, scope, body, existence, activity', async () => {
    const good = profileAt(clock.nowMs());
    const bad = { ...good, limitKw: 0 };
    const as = (key: string) => ({ 'x-api-key': key });
    const post = (key: string, body: object, at = path) =>
      service.send('POST', at, { headers: as(key), body });
    refusalOf(await post('nonsense', bad), 'UNAUTHORIZED');
    refusalOf(await post(apiKeyOf(NOBODY), bad), 'FEATURE_NOT_ENABLED');
    refusalOf(await post(CLOSED_OUT.text, bad), 'FEATURE_NOT_ENABLED');
    refusalOf(await post(READER.text, bad), 'INSUFFICIENT_SCOPE');
    refusalOf(await post(apiKeyOf(HARBOUR), bad), 'INVALID_REQUEST_BODY');
    refusalOf(await post(apiKeyOf(HARBOUR), good, '/locations/nowhere/schedules'), 'LOCATION_NOT_FOUND');
    refusalOf(await post(apiKeyOf(HARBOUR), good), 'TARGET_INACTIVE');
  });
});

describe('an API key', () => {
  it('that was issued with fewer scopes opens those alone (decisions)', async () => {
    const headers = { 'x-api-key': READER.text };
    bodyOf(await service.send('GET', '/locations/quay-1/limits', { headers }), locationLimitsSchema);
    refusalOf(await service.send('GET', '/clusters', { headers }), 'INSUFFICIENT_SCOPE');
  });

  it('stands back behind a Bearer token: a good one opens, a bad one is 401 though the key is good', async () => {
    const good = { ...(await bearer('locations:read')), 'x-api-key': 'nonsense' };
    bodyOf(await service.send('GET', '/locations/quay-1/limits', { headers: good }), locationLimitsSchema);
    const bad = { authorization: 'Bearer nonsense', 'x-api-key': apiKeyOf(HARBOUR) };
    refusalOf(await service.send('GET', '/locations/quay-1/limits', { headers: bad }), 'UNAUTHORIZED');
  });

  it('expires at its instant (5.3)', async () => {
    const headers = { 'x-api-key': SHORT_LIVED.text };
    const read = () => service.send('GET', '/clusters', { headers });
    clock.stall(KEY_EXPIRES_AT_MS - 1 - clock.nowMs());
    expect((await read()).status).toBe(200);
    clock.advance(1);
    refusalOf(await read(), 'UNAUTHORIZED');
  });
});

describe('15 POST /oauth/token', () => {
  it('answers with a Bearer token of all the scopes of the client, for 3600 s, not to be kept (RFC 6749)', async () => {
    const body = new URLSearchParams({ grant_type: 'client_credentials' }).toString();
    const basic = Buffer.from(`client-${HARBOUR.slice(0, 8)}:client+secret`).toString('base64');
    const headers = { authorization: `Basic ${basic}`, 'content-type': 'application/x-www-form-urlencoded' };
    const answer = await service.send('POST', '/oauth/token', { headers, body });
    const { access_token, ...rest } = bodyOf(answer, tokenResponseSchema);
    expect(rest).toEqual({ token_type: 'Bearer', expires_in: 3600, scope: SCOPES.join(' ') });
    expect(answer.headers.get('cache-control')).toBe('no-store');
    const read = await service.send('GET', '/clusters', {
      headers: { authorization: `bearer ${access_token}` },
    });
    expect(read.status).toBe(200);
  });

  it('narrows the scope on request and never widens it: 403 INSUFFICIENT_SCOPE', async () => {
    const client = ['limited-client', 'limited secret: +%'] as const;
    expect((await token(undefined, ...client)).scope).toBe('locations:read clusters:read');
    expect((await token('clusters:read', ...client)).scope).toBe('clusters:read');
    const body = {
      grant_type: 'client_credentials',
      client_id: client[0],
      client_secret: client[1],
      scope: 'clusters:read org:write',
    };
    const answer = await service.send('POST', '/oauth/token', { body });
    expect(answer.status).toBe(403);
    expect(tokenErrorSchema.parse(answer.body).error.code).toBe('INSUFFICIENT_SCOPE');
  });

  it.each([
    ['an unknown client', 401, 'UNAUTHORIZED', { client_id: 'nobody' }],
    ['a wrong secret', 401, 'UNAUTHORIZED', { client_secret: 'guessed' }],
    ['no client at all', 401, 'UNAUTHORIZED', { client_id: undefined, client_secret: undefined }],
    ['another grant', 400, 'INVALID_REQUEST_BODY', { grant_type: 'password' }],
    ['no grant', 400, 'INVALID_REQUEST_BODY', { grant_type: undefined }],
  ])('refuses %s: %i %s, with error_description beside the envelope', async (_, status, code, wrong) => {
    const client = { client_id: `client-${HARBOUR.slice(0, 8)}`, client_secret: 'client secret' };
    const body = { grant_type: 'client_credentials', ...client, ...wrong };
    const answer = await service.send('POST', '/oauth/token', { body });
    expect([answer.status, tokenErrorSchema.strict().parse(answer.body).error.code]).toEqual([status, code]);
    expect(answer.headers.get('www-authenticate')?.startsWith('Basic ') ?? false).toBe(status === 401);
  });

  it('gives tokens that expire after 3600 s and not before, over a restart too (5.3, decisions)', async () => {
    clock.advanceTo(Math.ceil(clock.nowMs() / 1000) * 1000);
    const headers = await bearer('clusters:read');
    const read = () => service.send('GET', '/clusters', { headers });
    service = await service.restart({ clock });
    expect((await read()).status).toBe(200);
    clock.stall(3600_000 - 1);
    expect((await read()).status).toBe(200);
    clock.stall(1);
    refusalOf(await read(), 'UNAUTHORIZED');
  });
});

describe('the rate of requests', () => {
  it('is limited for each tenant on its own: 429 RATE_LIMITED with Retry-After, then it goes on', async () => {
    const narrow = { HEADROOM_HTTP_RATE_PER_S: '5' };
    const tenants = [tenantWith(HARBOUR, []), tenantWith(RIVAL, [])];
    const limited = await runService(tenants, { clock }, narrow);
    const read = (tenantUuid: TenantUuid) => limited.call('GET', '/clusters', undefined, tenantUuid);
    const burst = await Promise.all(Array.from({ length: 12 }, () => read(HARBOUR)));
    const refused = burst.filter(({ status }) => status !== 200);
    expect(refused).toHaveLength(2);
    for (const answer of refused) {
      refusalOf(answer, 'RATE_LIMITED');
      expect(answer.headers.get('retry-after')).toBe('1');
    }
    expect((await read(RIVAL)).status).toBe(200);
    clock.advance(1000);
    expect((await read(HARBOUR)).status).toBe(200);
    await limited.stop();
  });
});

describe('the files of the service', () => {
  it('are readable by their owner alone; the log names exceptions, and the way to mend them', async () => {
    const parent = mkdtempSync(join(tmpdir(), 'headroom-owner-'));
    const dataDir = join(parent, 'data');
    const warnings: string[] = [];
    const log = { ...silentLog, warn: (_: object, message: string) => void warnings.push(message) };
    const owned = await runService([], { clock, log }, { HEADROOM_DATA_DIR: dataDir });
    const modes = ['', 'token-keys.json', 'headroom.sqlite'].map(
      (name) => statSync(join(dataDir, name)).mode,
    );
    expect(modes.map((mode) => mode & 0o777)).toEqual([0o700, 0o600, 0o600]);
    expect(warnings).toEqual([]);
    chmodSync(dataDir, 0o755);
    chmodSync(join(dataDir, 'token-keys.json'), 0o644);
    const again = await owned.restart({ clock, log });
    expect(warnings).toEqual([
      expect.stringMatching(/data is open to others .*: chmod 700 /),
      expect.stringMatching(/token-keys\.json is open to others .*: chmod 600 /),
    ]);
    await again.stop();
    rmSync(parent, { recursive: true, force: true });
  });
});

describe('14 GET /health', () => {
  it('needs no credential, answers at the root too, and has nothing of any tenant (5.1)', async () => {
    const answer = await service.send('GET', '/health');
    expect(bodyOf(answer, healthSchema)).toMatchObject({
      status: 'ok',
      checks: { database: 'ok', broker: 'ok', scheduler: 'ok' },
    });
    expect(JSON.stringify(answer.body)).not.toContain(HARBOUR);
    const root = await fetch(`${service.httpUrl}/health`);
    expect([root.status, Object.keys(healthSchema.parse(await root.json()))]).toEqual([
      200,
      Object.keys(answer.body),
    ]);
  });
});
