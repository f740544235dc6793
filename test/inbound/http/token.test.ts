// `POST /v1/oauth/token` by RFC 6749 section 4.4, with errors in the envelope.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import jwt from 'jsonwebtoken';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { tokenErrorSchema, tokenResponseSchema } from '../../../src/features/tokens/contract.js';
import { createTokenKeys, rotateTokenKeys, TokenKeysError } from '../../../src/inbound/http/token-keys.js';
import { createTokens } from '../../../src/inbound/http/tokens.js';
import { SCOPES, type Scope } from '../../../src/ports/records.js';
import { generateSecret, hashPassword, hashSecret, secretIdOf } from '../../../src/secrets.js';
import { TENANT } from './fake-application.js';
import { API_KEY, CLIENT, clientRecord, createRig, credentialSet, NOW_MS, type Rig } from './http-rig.js';

const GRANT = { grant_type: 'client_credentials' };
const BODY_CREDENTIAL = { client_id: CLIENT.id, client_secret: CLIENT.secret };

let rig: Rig;

function basic(id: string, secret: string): Record<string, string> {
  return { authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` };
}

function ask(
  fields: Record<string, string>,
  options: { form?: boolean; headers?: Record<string, string> } = {},
) {
  const { form = true, headers = {} } = options;
  return fetch(`${rig.url}/v1/oauth/token`, {
    method: 'POST',
    headers: { 'content-type': form ? 'application/x-www-form-urlencoded' : 'application/json', ...headers },
    body: form ? new URLSearchParams(fields).toString() : JSON.stringify(fields),
  });
}

async function tokenOf(answer: Response) {
  expect(answer.status).toBe(200);
  return tokenResponseSchema.parse(await answer.json());
}

async function refusalOf(answer: Response) {
  const { error, error_description } = tokenErrorSchema.parse(await answer.json());
  expect(error.requestId).toBe(answer.headers.get('x-request-id'));
  expect(error_description).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
  expect(answer.headers.get('cache-control')).toBe('no-store');
  return { status: answer.status, code: error.code, message: error.message };
}

const readWith = (token: string) =>
  rig
    .call('GET', '/v1/locations/quay-1/limits', { headers: { authorization: `Bearer ${token}` } })
    .then(({ status }) => status);

describe('the token endpoint', () => {
  beforeAll(async () => {
    rig = await createRig();
  });
  afterAll(() => rig.stop());
  beforeEach(() => {
    rig.credentials.replace(credentialSet());
    rig.time.tick(100 * 60_000);
  });

  it.each([
    ['a form with the credential in it', { fields: { ...GRANT, ...BODY_CREDENTIAL } }],
    ['JSON with the credential in it', { fields: { ...GRANT, ...BODY_CREDENTIAL }, form: false }],
    [
      'a form with Basic, percent-encoded',
      {
        fields: GRANT,
        headers: basic(CLIENT.id, encodeURIComponent(CLIENT.secret).replaceAll('%20', '+')),
      },
    ],
    [
      'JSON with Basic',
      { fields: GRANT, form: false, headers: basic(CLIENT.id, encodeURIComponent(CLIENT.secret)) },
    ],
    ['Basic that is not percent-encoded', { fields: GRANT, headers: basic(CLIENT.id, CLIENT.secret) }],
    [
      'Basic with the client_id once more',
      { fields: { ...GRANT, client_id: CLIENT.id }, headers: basic(CLIENT.id, CLIENT.secret) },
    ],
    ['parameters without a value', { fields: { ...GRANT, ...BODY_CREDENTIAL, scope: '' } }],
    [
      'parameters it does not know',
      { fields: { ...GRANT, ...BODY_CREDENTIAL, tenantUuid: 'x', audience: 'y' } },
    ],
  ])(
    'takes %s',
    async (_, {
      fields,
      ...options
    }: { fields: Record<string, string>; form?: boolean; headers?: Record<string, string> }) => {
      const answer = await ask(fields, options);
      expect(answer.headers.get('cache-control')).toBe('no-store');
      const token = await tokenOf(answer);
      expect(token).toMatchObject({ token_type: 'Bearer', expires_in: 3600, scope: SCOPES.join(' ') });
      expect(await readWith(token.access_token)).toBe(200);
    },
  );

  it('signs with ES256 and embeds tenant and scopes (section 5)', async () => {
    const { access_token } = await tokenOf(await ask({ ...GRANT, ...BODY_CREDENTIAL, scope: 'org:write' }));
    const decoded = jwt.decode(access_token, { complete: true });
    expect(decoded?.header).toEqual({ alg: 'ES256', typ: 'JWT', kid: rig.tokenKeys.current().signing.kid });
    const nowS = Math.floor(rig.time.now / 1000);
    expect(decoded?.payload).toEqual({
      iss: 'headroom',
      aud: 'headroom',
      sub: CLIENT.id,
      tenantUuid: TENANT,
      scope: 'org:write',
      secretId: secretIdOf(clientRecord().secretHash),
      iat: nowS,
      exp: nowS + 3600,
    });
  });

  it('narrows the scopes to those asked for, and never widens them', async () => {
    const scopes = ['locations:read', 'clusters:read'] as const;
    rig.credentials.replace(credentialSet({ oauthClients: [clientRecord({ scopes })] }));
    const all = await tokenOf(await ask({ ...GRANT, ...BODY_CREDENTIAL }));
    expect(all.scope).toBe('locations:read clusters:read');
    const fewer = await tokenOf(await ask({ ...GRANT, ...BODY_CREDENTIAL, scope: ' clusters:read ' }));
    expect(fewer.scope).toBe('clusters:read');
    expect(await readWith(fewer.access_token)).toBe(403);
    for (const scope of ['locations:write', 'clusters:read org:write', 'everything']) {
      const refusal = await refusalOf(await ask({ ...GRANT, ...BODY_CREDENTIAL, scope }));
      expect(refusal).toMatchObject({ status: 403, code: 'INSUFFICIENT_SCOPE' });
    }
  });

  it('gives tokens that open no more than their client may now, and all of it again once it may', async () => {
    const { access_token } = await tokenOf(await ask({ ...GRANT, ...BODY_CREDENTIAL }));
    const withScopes = (scopes: readonly Scope[]) =>
      rig.credentials.replace(credentialSet({ oauthClients: [clientRecord({ scopes })] }));
    expect(await readWith(access_token)).toBe(200);
    withScopes(['clusters:read']);
    expect(await readWith(access_token)).toBe(403);
    withScopes(['locations:read']);
    expect(await readWith(access_token)).toBe(200);
    const narrow = await tokenOf(await ask({ ...GRANT, ...BODY_CREDENTIAL, scope: 'locations:read' }));
    withScopes(SCOPES);
    const clusters = await rig.call('GET', '/v1/clusters', {
      headers: { authorization: `Bearer ${narrow.access_token}` },
    });
    expect(clusters.status).toBe(403);
  });

  it('gives tokens that end when the secret of their client changes, not when it is hashed anew', async () => {
    const { access_token } = await tokenOf(await ask({ ...GRANT, ...BODY_CREDENTIAL }));
    const withHash = (secretHash: string) =>
      rig.credentials.replace(credentialSet({ oauthClients: [clientRecord({ secretHash })] }));
    expect(await readWith(access_token)).toBe(200);
    withHash(await hashPassword(CLIENT.secret, secretIdOf(clientRecord().secretHash)));
    expect(await readWith(access_token)).toBe(200);
    withHash(await hashPassword(CLIENT.secret));
    expect(await readWith(access_token)).toBe(401);
    withHash(hashSecret('another secret'));
    expect(await readWith(access_token)).toBe(401);
  });

  it('answers the same 401 with WWW-Authenticate: Basic for any fault of the client', async () => {
    const messages = new Set<string>();
    for (const [fields, headers] of [
      [GRANT, {}],
      [{ ...GRANT, client_id: CLIENT.id }, {}],
      [{ ...GRANT, ...BODY_CREDENTIAL, client_secret: 'wrong' }, {}],
      [{ ...GRANT, ...BODY_CREDENTIAL, client_id: 'nobody' }, {}],
      [GRANT, basic(CLIENT.id, 'wrong')],
      [GRANT, { authorization: 'Basic !' }],
      [GRANT, { authorization: 'Basic aGVsbG8=' }],
      [GRANT, { 'x-api-key': API_KEY }],
    ] as [Record<string, string>, Record<string, string>][]) {
      const answer = await ask(fields, { headers });
      expect(answer.headers.get('www-authenticate')).toMatch(/^Basic realm=/);
      const refusal = await refusalOf(answer);
      expect(refusal).toMatchObject({ status: 401, code: 'UNAUTHORIZED' });
      messages.add(refusal.message);
    }
    rig.credentials.replace(credentialSet({ oauthClients: [clientRecord({ endedAtMs: NOW_MS })] }));
    messages.add((await refusalOf(await ask({ ...GRANT, ...BODY_CREDENTIAL }))).message);
    expect(messages.size).toBe(1);
  });

  it.each([
    ['another grant', 'grant_type', { ...BODY_CREDENTIAL, grant_type: 'password' }],
    ['no grant', 'grant_type', BODY_CREDENTIAL],
    ['an empty grant', 'grant_type', { ...BODY_CREDENTIAL, grant_type: '' }],
  ])('answers 400 naming the field to %s', async (_, field, fields) => {
    const refusal = await refusalOf(await ask(fields));
    expect(refusal).toMatchObject({ status: 400, code: 'INVALID_REQUEST_BODY' });
    expect(refusal.message).toMatch(new RegExp(`^${field}: `));
  });

  it('answers 400 where a client authenticates twice, or names two', async () => {
    const headers = basic(CLIENT.id, CLIENT.secret);
    for (const [field, fields] of [
      ['client_secret', { ...GRANT, ...BODY_CREDENTIAL }],
      ['client_id', { ...GRANT, client_id: 'somebody-else' }],
    ] as const) {
      const refusal = await refusalOf(await ask(fields, { headers }));
      expect(refusal.status).toBe(400);
      expect(refusal.message).toMatch(new RegExp(`^${field}: `));
    }
  });

  it('answers 400 to a parameter sent twice, or of the wrong type, or a body that cannot be read', async () => {
    for (const [type, body] of [
      ['application/x-www-form-urlencoded', 'grant_type=client_credentials&client_id=a&client_id=b'],
      ['application/json', JSON.stringify({ ...GRANT, client_id: 7 })],
      ['application/json', '{"grant_type":'],
      ['application/json', '[]'],
    ]) {
      const answer = await rig.call('POST', '/v1/oauth/token', {
        headers: { 'content-type': type ?? '' },
        body,
      });
      expect(await refusalOf(answer)).toMatchObject({ status: 400, code: 'INVALID_REQUEST_BODY' });
    }
  });

  it('answers every other refusal with error_description too: a wrong method, and too many failures', async () => {
    expect(await refusalOf(await rig.call('GET', '/v1/oauth/token'))).toMatchObject({ status: 405 });
    const wrong = { ...GRANT, client_id: 'nobody', client_secret: generateSecret('guess') };
    for (let i = 0; i < 100; i++) expect((await ask(wrong)).status).toBe(401);
    expect(await refusalOf(await ask(wrong))).toMatchObject({ status: 429, code: 'RATE_LIMITED' });
  });

  it('answers 415 to another media type and 413 to a body over 100 kB', async () => {
    const call = (type: string, body: string) =>
      rig.call('POST', '/v1/oauth/token', { headers: { 'content-type': type }, body }).then(refusalOf);
    expect(await call('text/plain', 'grant_type=client_credentials')).toMatchObject({ status: 415 });
    const long = `grant_type=client_credentials&padding=${'x'.repeat(100_001)}`;
    expect(await call('application/x-www-form-urlencoded', long)).toMatchObject({ status: 413 });
    const many = Array.from({ length: 2000 }, (_, i) => `p${i}=`).join('&');
    expect(await call('application/x-www-form-urlencoded', many)).toMatchObject({ status: 413 });
  });
});

describe('the signing keys', () => {
  const client = clientRecord();
  const file = () => join(rig.dataDir, 'token-keys.json');
  const tokensOf = (tokenKeys: string | undefined, dataDir = rig.dataDir) =>
    createTokens({
      keys: createTokenKeys({ tokenKeys, dataDir }),
      clock: { nowMs: () => NOW_MS, monotonicMs: () => 0, after: () => () => {} },
    });

  beforeEach(async () => {
    rig = await createRig();
  });
  afterEach(() => rig.stop());

  it('are made in the data directory, readable by their owner alone, and survive a restart', async () => {
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    const token = rig.tokens.issue(client, SCOPES);
    await rig.server.stop();
    const restarted = await createRig({ dataDir: rig.dataDir });
    const { status } = await restarted.call('GET', '/v1/clusters', {
      headers: { authorization: `Bearer ${token}` },
    });
    await restarted.stop();
    expect(status).toBe(200);
  });

  it('are generated to the end, whenever garbage is collected meanwhile', async () => {
    const module = new URL('../../../dist/src/inbound/http/token-keys.js', import.meta.url).href;
    const script = `import { newTokenKeys } from ${JSON.stringify(module)};
for (let made = 0; made < 400; made++) newTokenKeys();`;
    // Only Node 20 hung here.
    const often = process.versions.node.startsWith('20.') ? ['--gc-interval=42'] : [];
    const child = spawn(process.execPath, [...often, '--input-type=module', '-e', script]);
    onTestFinished(() => void child.kill('SIGKILL'));
    expect(await once(child, 'close')).toEqual([0, null]);
  });

  it('rotate: the new one signs, the one before still verifies, the one before that no longer', async () => {
    const first = rig.tokens.issue(client, SCOPES);
    expect(await readWith(first)).toBe(200);
    rotateTokenKeys(file());
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    rig.tokenKeys.refresh();
    const second = rig.tokens.issue(client, SCOPES);
    expect(jwt.decode(second, { complete: true })?.header.kid).not.toBe(
      jwt.decode(first, { complete: true })?.header.kid,
    );
    expect([await readWith(first), await readWith(second)]).toEqual([200, 200]);
    rotateTokenKeys(file());
    rig.tokenKeys.refresh();
    expect([await readWith(first), await readWith(second)]).toEqual([401, 200]);
  });

  it('stay in force when their file becomes unreadable', () => {
    const token = rig.tokens.issue(client, SCOPES);
    writeFileSync(file(), 'not keys');
    expect(() => rig.tokenKeys.refresh()).toThrow(TokenKeysError);
    expect(rig.tokens.verify(token)).toMatchObject({ clientId: CLIENT.id });
  });

  it('may come from a file or as JSON in the setting itself, for several nodes', () => {
    const token = rig.tokens.issue(client, SCOPES);
    const elsewhere = join(rig.dataDir, 'elsewhere');
    for (const tokenKeys of [file(), readFileSync(file(), 'utf8')]) {
      expect(tokensOf(tokenKeys, elsewhere).verify(token)).toMatchObject({ clientId: CLIENT.id });
    }
    expect(existsSync(elsewhere)).toBe(false);
    expect(tokensOf(undefined, elsewhere).verify(token)).toBeUndefined();
  });

  it('are refused in one line that shows nothing of them when they are wrong', () => {
    const wrong = [
      '{"keys":[]}',
      '{"keys":[{"kty":"RSA","d":"private-part"}]}',
      '{"keys":[{"kty":"EC","crv":"P-256","x":"AA","y":"AA","d":"private-part"}]}',
      '{"private-part"',
      join(rig.dataDir, 'missing.json'),
    ];
    for (const tokenKeys of wrong) {
      expect(() => tokensOf(tokenKeys)).toThrow(TokenKeysError);
      expect(() => tokensOf(tokenKeys)).toThrow(/^token keys: (?!.*private-part)[^\n]*$/);
    }
  });

  it('verify no token of another algorithm, issuer, audience or key, and none without an id', async () => {
    const { signing } = rig.tokenKeys.current();
    const claims = {
      sub: CLIENT.id,
      tenantUuid: TENANT,
      scope: 'locations:read',
      iat: NOW_MS / 1000,
      exp: NOW_MS / 1000 + 60,
    };
    const sign = (change: object, options: jwt.SignOptions = {}) =>
      jwt.sign({ iss: 'headroom', aud: 'headroom', ...claims, ...change }, signing.key, {
        algorithm: 'ES256',
        keyid: signing.kid,
        ...options,
      });
    expect(await readWith(sign({}))).toBe(200);
    const parts = sign({}).split('.');
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const hmac = jwt.sign({ iss: 'headroom', aud: 'headroom', ...claims }, 'secret', {
      algorithm: 'HS256',
      keyid: signing.kid,
    });
    for (const token of [
      sign({ iss: 'somebody' }),
      sign({ aud: 'something' }),
      sign({ exp: NOW_MS / 1000 }),
      sign({ tenantUuid: 7 }),
      sign({ secretId: 'of-another-secret' }),
      sign({ secretId: 7 }),
      sign({}, { header: { alg: 'ES256', crit: ['exp'] } as jwt.JwtHeader }),
      sign({}, { header: { alg: 'ES256', crit: [] } as jwt.JwtHeader }),
      sign({}, { keyid: 'unknown' }),
      sign({}, { keyid: '__proto__' }),
      hmac,
      [part({ alg: 'none', kid: signing.kid }), parts[1], ''].join('.'),
      [parts[0], part({ ...claims, iss: 'headroom', aud: 'headroom', scope: 'org:write' }), parts[2]].join(
        '.',
      ),
    ]) {
      expect(await readWith(token)).toBe(401);
    }
  });
});
