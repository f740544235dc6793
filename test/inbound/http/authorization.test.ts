// Every endpoint against every kind of wrong credential, with both schemes.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { SCOPES } from '../../../src/ports/records.js';
import { errorEnvelopeSchema } from '../../../src/wire/error-envelope.js';
import { OTHER_TENANT, TENANT } from './fake-application.js';
import {
  API_KEY,
  apiKeyRecord,
  bearer,
  clientRecord,
  createRig,
  credentialSet,
  NOW_MS,
  OTHER_API_KEY,
  type Rig,
} from './http-rig.js';
import { EVERY_SAMPLE, type SampleRequest, WINDOW } from './sample-requests.js';

const KEY = { 'x-api-key': API_KEY };
let rig: Rig;

beforeAll(async () => {
  rig = await createRig();
});
afterAll(() => rig.stop());
beforeEach(() => {
  rig.credentials.replace(credentialSet());
  rig.asked.length = 0;
  // Failed attempts of earlier tests expire, so that the service checks each wrong credential.
  rig.time.tick(100 * 60_000);
});

async function expectRefusal(
  sample: SampleRequest,
  headers: Record<string, string>,
  status: number,
  code: string,
) {
  const answer = await rig.call(sample.method, sample.path, { headers, body: sample.body });
  expect(answer.status).toBe(status);
  const envelope = errorEnvelopeSchema.parse(await answer.json());
  expect(envelope).toEqual({
    error: { code, message: expect.any(String), requestId: answer.headers.get('x-request-id') },
  });
  expect(rig.asked).toEqual([]);
  return { answer, envelope };
}

describe.each(EVERY_SAMPLE)('endpoint $number: $method $pattern (section 5)', (sample) => {
  it('answers a good API key and a good token for the tenant of the credential', async () => {
    for (const headers of [KEY, bearer(rig)]) {
      const answer = await rig.call(sample.method, sample.path, { headers, body: sample.body });
      expect([answer.status, answer.headers.get('content-type')]).toEqual([
        sample.status,
        'application/json; charset=utf-8',
      ]);
    }
    expect(rig.asked.map(([, tenantUuid]) => tenantUuid)).toEqual([TENANT, TENANT]);
  });

  it('answers 401 with WWW-Authenticate without a credential', async () => {
    const { answer } = await expectRefusal(sample, {}, 401, 'UNAUTHORIZED');
    expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer /);
  });

  it('answers the same 401 for any fault of a key', async () => {
    const wrong = `${API_KEY.slice(0, -1)}X`;
    const first = await expectRefusal(sample, { 'x-api-key': wrong }, 401, 'UNAUTHORIZED');
    for (const key of ['hr_nobody00_3vQmTq8XbW0yZr5sLk2JdN7c', 'nonsense', '']) {
      const { envelope } = await expectRefusal(sample, { 'x-api-key': key }, 401, 'UNAUTHORIZED');
      expect(envelope.error.message).toBe(first.envelope.error.message);
    }
    for (const change of [{ endedAtMs: NOW_MS }, { expiresAtMs: NOW_MS }]) {
      rig.credentials.replace(credentialSet({ apiKeys: [apiKeyRecord(change)] }));
      const { envelope } = await expectRefusal(sample, KEY, 401, 'UNAUTHORIZED');
      expect(envelope.error.message).toBe(first.envelope.error.message);
    }
  });

  it('answers 401 to a token that is garbage, altered, or whose client is disabled, gone or of another tenant', async () => {
    const good = bearer(rig).authorization ?? '';
    for (const token of [
      'Bearer',
      'Bearer ',
      'Bearer a.b.c',
      `${good}x`,
      'Bearer eyJhbGciOiJub25lIn0.e30.',
    ]) {
      await expectRefusal(sample, { authorization: token }, 401, 'UNAUTHORIZED');
    }
    const headers = bearer(rig);
    for (const oauthClients of [
      [clientRecord({ endedAtMs: NOW_MS })],
      [],
      [clientRecord({ tenantUuid: OTHER_TENANT })],
    ]) {
      rig.credentials.replace(credentialSet({ oauthClients }));
      await expectRefusal(sample, headers, 401, 'UNAUTHORIZED');
    }
  });

  it('answers 403 FEATURE_NOT_ENABLED while the feature is off, and works again once it is on', async () => {
    const token = bearer(rig);
    const tenants = [{ tenantUuid: TENANT, name: 'Harbour Charging', features: ['something-else'] }];
    for (const headers of [KEY, token]) {
      rig.credentials.replace(credentialSet({ tenants }));
      await expectRefusal(sample, headers, 403, 'FEATURE_NOT_ENABLED');
      rig.credentials.replace(credentialSet());
      const { status } = await rig.call(sample.method, sample.path, { headers, body: sample.body });
      expect(status).toBe(sample.status);
      rig.asked.length = 0;
    }
  });

  it(`answers 403 INSUFFICIENT_SCOPE without ${sample.scope}, and needs no other scope`, async () => {
    const scopes = SCOPES.filter((scope) => scope !== sample.scope);
    rig.credentials.replace(credentialSet({ apiKeys: [apiKeyRecord({ scopes })] }));
    for (const headers of [KEY, bearer(rig, { scopes })]) {
      const { envelope } = await expectRefusal(sample, headers, 403, 'INSUFFICIENT_SCOPE');
      expect(envelope.error.message).toContain(sample.scope);
    }
    rig.credentials.replace(credentialSet({ apiKeys: [apiKeyRecord({ scopes: [sample.scope] })] }));
    for (const headers of [KEY, bearer(rig, { scopes: [sample.scope] })]) {
      const { status } = await rig.call(sample.method, sample.path, { headers, body: sample.body });
      expect(status).toBe(sample.status);
    }
  });

  it('looks at the credential, the feature and the scope before the body', async () => {
    if (sample.body === undefined) return;
    const send = (headers: Record<string, string>) =>
      rig.call(sample.method, sample.path, { headers, body: '{"limitKw":' }).then(({ status }) => status);
    expect(await send({})).toBe(401);
    rig.credentials.replace(credentialSet({ tenants: [] }));
    expect(await send(KEY)).toBe(403);
    rig.credentials.replace(credentialSet({ apiKeys: [apiKeyRecord({ scopes: [] })] }));
    expect(await send(KEY)).toBe(403);
    rig.credentials.replace(credentialSet());
    expect(await send(KEY)).toBe(400);
  });

  it('lets the Bearer token decide where both are sent', async () => {
    await expectRefusal(sample, { ...KEY, authorization: 'Bearer a.b.c' }, 401, 'UNAUTHORIZED');
    const { status } = await rig.call(sample.method, sample.path, {
      headers: { ...bearer(rig), 'x-api-key': OTHER_API_KEY },
      body: sample.body,
    });
    expect(status).toBe(sample.status);
    expect(rig.asked[0]?.[1]).toBe(TENANT);
  });
});

describe('a credential over time (section 5)', () => {
  const read = (headers: Record<string, string>) =>
    rig.call('GET', '/v1/locations/quay-1/limits', { headers }).then(({ status }) => status);

  it('a token is good for 3600 seconds, to the second, although it was verified before', async () => {
    const headers = bearer(rig);
    rig.time.tick(3_599_999);
    expect(await read(headers)).toBe(200);
    rig.time.tick(1);
    expect(await read(headers)).toBe(401);
  });

  it('a key that was used before is refused from the instant it expires', async () => {
    const expiresAtMs = rig.time.now + 1000;
    rig.credentials.replace(credentialSet({ apiKeys: [apiKeyRecord({ expiresAtMs })] }));
    rig.time.tick(999);
    expect(await read(KEY)).toBe(200);
    rig.time.tick(1);
    expect(await read(KEY)).toBe(401);
  });

  it('revoking a key, disabling a client and changing a secret act on the next request', async () => {
    const token = bearer(rig);
    expect([await read(KEY), await read(token)]).toEqual([200, 200]);
    rig.credentials.replace(
      credentialSet({
        apiKeys: [apiKeyRecord({ endedAtMs: rig.time.now })],
        oauthClients: [clientRecord({ endedAtMs: rig.time.now })],
      }),
    );
    expect([await read(KEY), await read(token)]).toEqual([401, 401]);
    rig.credentials.replace(credentialSet({ apiKeys: [apiKeyRecord({ secretHash: '00'.repeat(32) })] }));
    expect(await read(KEY)).toBe(401);
  });

  it('a credential that is no Bearer token leaves the decision to the key; the scheme is read in any case', async () => {
    expect(await read({ ...KEY, authorization: 'Basic aGVsbG86d29ybGQ=' })).toBe(200);
    expect(await read({ authorization: 'Basic aGVsbG86d29ybGQ=' })).toBe(401);
    expect(await read({ authorization: (bearer(rig).authorization ?? '').replace('Bearer', 'bEARER') })).toBe(
      200,
    );
  });

  it('another tenant is asked about with its own tenant, at any body (section 5, rule 2)', async () => {
    const answer = await rig.call('POST', '/v1/locations/quay-1/schedules', {
      headers: { 'x-api-key': OTHER_API_KEY, 'x-tenant-uuid': TENANT },
      body: { ...WINDOW, tenantUuid: TENANT },
    });
    expect(answer.status).toBe(404);
    expect(rig.asked).toEqual([['scheduleLocation', OTHER_TENANT, 'quay-1', { ...WINDOW }]]);
  });
});
