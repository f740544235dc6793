// Rate limits: requests per tenant, and guesses of credentials per address.
import { afterEach, describe, expect, it } from 'vitest';
import { generateSecret, hashPassword } from '../../../src/secrets.js';
import {
  API_KEY,
  apiKeyRecord,
  bearer,
  CLIENT,
  clientRecord,
  createRig,
  credentialSet,
  OTHER_API_KEY,
  type Rig,
} from './http-rig.js';

const WRONG_KEY = { 'x-api-key': `${API_KEY.slice(0, -1)}X` };
const KEY = { 'x-api-key': API_KEY };
const BURST = 100;
const NAME_BURST = 10;

let rig: Rig;
afterEach(() => rig.stop());

const read = (headers: Record<string, string>) => rig.call('GET', '/v1/locations/quay-1/limits', { headers });
const statusOf = async (headers: Record<string, string>) => (await read(headers)).status;

async function failOften(headers: Record<string, string> = {}): Promise<void> {
  for (let i = 0; i < BURST; i++) expect(await statusOf({ ...WRONG_KEY, ...headers })).toBe(401);
}

describe('the request rate of a tenant', () => {
  it('allows twice the rate at once, then answers 429 with Retry-After until time has passed', async () => {
    rig = await createRig({ settings: { httpRatePerS: 5 } });
    for (let i = 0; i < 10; i++) expect(await statusOf(i % 2 === 0 ? KEY : bearer(rig))).toBe(200);
    const refused = await read(KEY);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1']);
    expect(await refused.json()).toMatchObject({ error: { code: 'RATE_LIMITED' } });
    rig.time.tick(200);
    expect([await statusOf(KEY), await statusOf(KEY)]).toEqual([200, 429]);
  });

  it('is in each answer to the tenant, as quota, rest and seconds until there is more', async () => {
    rig = await createRig({ settings: { httpRatePerS: 2 } });
    const limitsOf = ({ headers }: Response) => [headers.get('ratelimit-policy'), headers.get('ratelimit')];
    const POLICY = '"tenant";q=4;w=2';
    for (const left of [3, 2, 1])
      expect(limitsOf(await read(KEY))).toEqual([POLICY, `"tenant";r=${left};t=1`]);
    const unknown = await rig.call('GET', '/v1/locations/nowhere/limits', { headers: KEY });
    expect([unknown.status, ...limitsOf(unknown)]).toEqual([404, POLICY, '"tenant";r=0;t=1']);
    const refused = await read(KEY);
    expect([refused.status, ...limitsOf(refused)]).toEqual([429, POLICY, '"tenant";r=0;t=1']);
    expect(refused.headers.get('retry-after')).toBe('1');
    rig.time.tick(2_000);
    expect(limitsOf(await read(KEY))).toEqual([POLICY, '"tenant";r=3;t=1']);
    const stream = await fetch(`${rig.url}/v1/stream`, { headers: KEY });
    expect(limitsOf(stream)).toEqual([POLICY, '"tenant";r=2;t=1']);
    await stream.body?.cancel();
  });

  it('is in no answer that took none of it: without a credential, health, and tokens', async () => {
    rig = await createRig();
    const answers = [
      await read({}),
      await read(WRONG_KEY),
      await rig.call('GET', '/v1/health'),
      await rig.call('POST', '/v1/oauth/token', { body: { grant_type: 'client_credentials' } }),
    ];
    for (const { headers } of answers)
      expect(headers.has('ratelimit') || headers.has('ratelimit-policy')).toBe(false);
  });

  it('concerns no other tenant, and no caller without a credential', async () => {
    rig = await createRig({ settings: { httpRatePerS: 1 } });
    expect([await statusOf(KEY), await statusOf(KEY), await statusOf(KEY)]).toEqual([200, 200, 429]);
    expect(await statusOf({ 'x-api-key': OTHER_API_KEY })).toBe(404);
    expect(await statusOf({})).toBe(401);
  });
});

describe('failed attempts of an address', () => {
  const ask = async (id: string, secret: string) => {
    const body = { grant_type: 'client_credentials', client_id: id, client_secret: secret };
    const answer = await rig.call('POST', '/v1/oauth/token', { body });
    return [answer.status, answer.headers.get('retry-after')];
  };

  it('are allowed 100 at once; after that wrong keys and tokens get 429, and right ones go on, recorded or not', async () => {
    rig = await createRig();
    await failOften();
    for (const headers of [WRONG_KEY, { authorization: 'Bearer a.b.c' }]) {
      const refused = await read(headers);
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1']);
    }
    expect([await statusOf(KEY), await statusOf(bearer(rig))]).toEqual([200, 200]);
    expect(await statusOf({ 'x-api-key': OTHER_API_KEY })).toBe(404);
    expect([await statusOf(KEY), await statusOf(WRONG_KEY)]).toEqual([200, 429]);
    rig.time.tick(1000);
    expect([await statusOf(WRONG_KEY), await statusOf(WRONG_KEY)]).toEqual([401, 429]);
  });

  it('are counted, and a request without a credential is none', async () => {
    rig = await createRig();
    for (let i = 0; i < BURST + 1; i++) expect(await statusOf({})).toBe(401);
    expect(await statusOf(WRONG_KEY)).toBe(401);
    expect((await rig.metrics.authFailures.get()).values).toEqual([{ labels: { via: 'http' }, value: 1 }]);
  });

  it('are in the log with address and the public part of the credential, and nothing secret', async () => {
    rig = await createRig();
    const token = bearer(rig, { secretHash: 'of another secret' });
    expect([await statusOf(WRONG_KEY), await statusOf(token)]).toEqual([401, 401]);
    expect((await ask(CLIENT.id, generateSecret('guess')))[0]).toBe(401);
    const lines = rig.logLines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'sign-in failed');
    const common = { level: 'warn', time: expect.any(String), address: '127.0.0.1', msg: 'sign-in failed' };
    expect(lines).toEqual([
      { ...common, via: 'http', keyId: 'harbour1', reason: 'wrong secret' },
      {
        ...common,
        via: 'http',
        clientId: CLIENT.id,
        reason: 'expired, or of another client or secret',
      },
      { ...common, via: 'token', clientId: CLIENT.id, reason: 'wrong secret' },
    ]);
    for (const secret of [WRONG_KEY['x-api-key'].slice(-12), token.authorization, generateSecret('guess')]) {
      expect(rig.logLines.join()).not.toContain(secret);
    }
  });

  it.each([
    ['cut off', KEY['x-api-key'].slice(0, -30), 'wrong secret'],
    ['with a line end that was copied with it', `${KEY['x-api-key']}%0A`, 'wrong secret'],
    ['of another database', 'hr_nowhere1_tooShort', 'no such key'],
  ])('name the key that was sent, also one %s', async (_, key, reason) => {
    rig = await createRig();
    expect(await statusOf({ 'x-api-key': key })).toBe(401);
    const lines = rig.logLines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'sign-in failed');
    expect(lines).toEqual([expect.objectContaining({ keyId: key.split('_')[1], reason })]);
  });

  it('limit a key that was valid and then revoked', async () => {
    rig = await createRig();
    expect(await statusOf(KEY)).toBe(200);
    await failOften();
    rig.credentials.replace(credentialSet({ apiKeys: [apiKeyRecord({ endedAtMs: 1 })] }));
    expect(await statusOf(KEY)).toBe(429);
  });

  it('limit the token endpoint in the same way: guesses at a client delay only that client', async () => {
    rig = await createRig();
    await failOften();
    for (let i = 0; i < NAME_BURST; i++) {
      expect(await ask(CLIENT.id, generateSecret(`guess ${i}`))).toEqual([429, '1']);
    }
    expect(await ask(CLIENT.id, 'guessed by hand')).toEqual([429, '10']);
    expect(await ask('nobody', 'guessed by hand')).toEqual([429, '1']);
    expect(await ask(CLIENT.id, CLIENT.secret)).toEqual([429, '10']);
    rig.time.tick(10_000);
    expect(await ask(CLIENT.id, CLIENT.secret)).toEqual([200, null]);
  });

  it('keep no client out that is right, was right before, or has a generated secret', async () => {
    rig = await createRig();
    const generated = generateSecret();
    rig.credentials.replace(
      credentialSet({
        oauthClients: [
          clientRecord({ secretHash: await hashPassword(CLIENT.secret) }),
          clientRecord({ id: 'neighbour', secretHash: await hashPassword('a secret of its own') }),
          clientRecord({ id: 'generated', secretHash: await hashPassword(generated) }),
        ],
      }),
    );
    expect(await ask(CLIENT.id, CLIENT.secret)).toEqual([200, null]);
    await failOften();
    for (const id of [CLIENT.id, 'generated']) {
      for (let i = 0; i < NAME_BURST; i++) await ask(id, generateSecret(`guess ${i}`));
      expect(await ask(id, 'guessed by hand')).toEqual([429, '10']);
    }
    expect(await ask(CLIENT.id, CLIENT.secret)).toEqual([200, null]);
    expect(await ask('generated', generated)).toEqual([200, null]);
    expect(await ask('neighbour', 'a secret of its own')).toEqual([200, null]);
  });

  it('trust X-Forwarded-For only behind a configured proxy', async () => {
    rig = await createRig();
    await failOften({ 'x-forwarded-for': '203.0.113.1' });
    expect(await statusOf({ ...WRONG_KEY, 'x-forwarded-for': '203.0.113.2' })).toBe(429);
    await rig.stop();

    rig = await createRig({ settings: { trustProxy: 1 } });
    await failOften({ 'x-forwarded-for': '203.0.113.1' });
    expect(await statusOf({ ...WRONG_KEY, 'x-forwarded-for': '198.51.100.9, 203.0.113.1' })).toBe(429);
    expect(await statusOf({ ...WRONG_KEY, 'x-forwarded-for': '203.0.113.2' })).toBe(401);
  });

  it('count an IPv6 subscriber as one, at any address of its network', async () => {
    rig = await createRig({ settings: { trustProxy: 1 } });
    await failOften({ 'x-forwarded-for': '2001:db8:0:7::1' });
    expect(await statusOf({ ...WRONG_KEY, 'x-forwarded-for': '2001:db8::7:a:b:c:d' })).toBe(429);
    expect(await statusOf({ ...WRONG_KEY, 'x-forwarded-for': '2001:db8:0:8::1' })).toBe(401);
  });
});
