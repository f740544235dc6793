// Section 5: a tenant's permitted credentials create others within their own rights, and these end with the next
// request.
import { request as httpRequest } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { TenantUuid } from '../../machines/values/ids.js';
import { createVirtualClock } from '../../sim/virtual-clock.js';
import { databaseUrlOf } from '../../src/config.js';
import {
  type ApiKeyList,
  apiKeyListSchema,
  apiKeySchema,
  issuedApiKeySchema,
  issuedOauthClientSchema,
  oauthClientListSchema,
  oauthClientSchema,
} from '../../src/features/credentials/contract.js';
import { tokenResponseSchema } from '../../src/features/tokens/contract.js';
import { openDatabase } from '../../src/outbound/knex/connection.js';
import type { Log } from '../../src/ports/log.js';
import { SCOPES, type Scope, USUAL_SCOPES } from '../../src/ports/records.js';
import type { Store } from '../../src/ports/store.js';
import { formatApiKey, hashSecret } from '../../src/secrets.js';
import { eventually } from '../eventually.js';
import { bodyOf, refusalOf } from './answers.js';
import { HOUR_MS } from './profiles.js';
import {
  type Answer,
  apiKeyOf,
  HARBOUR,
  RIVAL,
  type RunningService,
  runService,
  silentLog,
  site,
  spareOf,
  tenantWith,
} from './running-service.js';

const NOW_MS = Date.parse('2026-06-01T12:00:00.250Z');
const KEYS = '/credentials/api-keys';
const CLIENTS = '/credentials/clients';
const SECRET = 'anotherSecretOfThisTenant';

let clock: ReturnType<typeof createVirtualClock>;
let service: RunningService;
let lines: [object, string][];

function keyWith(keyId: string, scopes: readonly Scope[], expiresAtMs: number | null = null) {
  return { id: keyId, secretHash: hashSecret(SECRET), scopes, expiresAtMs };
}

beforeEach(async () => {
  clock = createVirtualClock(NOW_MS);
  lines = [];
  const note = (fields: object, text: string) => void lines.push([fields, text]);
  const log: Log = { debug: note, info: note, warn: note, error: note };
  const harbour = tenantWith(HARBOUR, [site('quay-1')]);
  const apiKeys = [
    ...harbour.apiKeys,
    keyWith('usual000', USUAL_SCOPES),
    keyWith('narrow00', ['credentials:write', 'locations:read']),
    keyWith('passing0', ['credentials:write', 'locations:read'], NOW_MS + HOUR_MS),
  ];
  const tenants = [{ ...harbour, apiKeys }, tenantWith(RIVAL, [site('quay-1')])];
  service = await runService(tenants, { clock, log });
});
afterEach(() => service.stop());

function as(keyId: string): Record<string, string> {
  return { 'x-api-key': formatApiKey(keyId, SECRET) };
}

function create(
  at: string,
  body: object,
  headers: Record<string, string> = { 'x-api-key': apiKeyOf(HARBOUR) },
) {
  return service.send('POST', at, { headers, body });
}

async function newKey(body: object = {}, headers?: Record<string, string>) {
  const request = { name: 'A key', scopes: ['locations:read'], ...body };
  return bodyOf(await create(KEYS, request, headers), issuedApiKeySchema, 201);
}

async function newClient(body: object = {}) {
  const request = { name: 'A client', scopes: ['locations:read'], ...body };
  return bodyOf(await create(CLIENTS, request), issuedOauthClientSchema, 201);
}

async function keys(tenantUuid: TenantUuid = HARBOUR): Promise<ApiKeyList['apiKeys']> {
  return bodyOf(await service.call('GET', KEYS, undefined, tenantUuid), apiKeyListSchema).apiKeys;
}

function limits(headers: Record<string, string>): Promise<Answer> {
  return service.send('GET', '/locations/quay-1/limits', { headers });
}

function tokenOf(clientId: string, clientSecret: string): Promise<Answer> {
  const body = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret };
  return service.send('POST', '/oauth/token', { body });
}

async function bearer(clientId: string, clientSecret: string): Promise<Record<string, string>> {
  const { access_token } = bodyOf(await tokenOf(clientId, clientSecret), tokenResponseSchema);
  return { authorization: `Bearer ${access_token}` };
}

describe('an API key that is created', () => {
  it('opens its scopes from the next request on, over a restart too, and is listed without its secret', async () => {
    const expiresAt = new Date(NOW_MS + HOUR_MS).toISOString();
    const answer = await create(KEYS, { name: '  Fleet back end ', scopes: ['locations:read'], expiresAt });
    const issued = bodyOf(answer, issuedApiKeySchema, 201);
    expect(answer.headers.get('location')).toBe(`/v1${KEYS}/${issued.keyId}`);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    const { apiKey, ...view } = issued;
    expect(view).toEqual({
      keyId: apiKey.slice(3, 11),
      name: 'Fleet back end',
      scopes: ['locations:read'],
      state: 'active',
      createdAt: new Date(NOW_MS).toISOString(),
      createdBy: `apiKey:${HARBOUR.slice(0, 8)}`,
      expiresAt,
      lastUsedAt: null,
      isCaller: false,
      revokedAt: null,
      revokedBy: null,
    });
    for (const [path, status] of [
      ['/locations/quay-1/limits', 200],
      ['/clusters', 403],
      [KEYS, 403],
    ] as const)
      expect((await service.send('GET', path, { headers: { 'x-api-key': apiKey } })).status).toBe(status);
    service = await service.restart({ clock });
    expect((await limits({ 'x-api-key': apiKey })).status).toBe(200);
    const list = JSON.stringify(await keys());
    expect(list).toContain(issued.keyId);
    expect(list).not.toContain(apiKey.slice(12));
    clock.stall(HOUR_MS);
    refusalOf(await limits({ 'x-api-key': apiKey }), 'UNAUTHORIZED');
    expect(await keys()).toContainEqual(expect.objectContaining({ keyId: issued.keyId, state: 'expired' }));
  });

  it('is neither in the log nor in the database; the log names its creator and revoker', async () => {
    const { apiKey, keyId } = await newKey();
    await service.call('DELETE', `${KEYS}/${keyId}`);
    const by = `apiKey:${HARBOUR.slice(0, 8)}`;
    const credential = `apiKey:${keyId}`;
    const told = lines.filter(([, text]) => text.startsWith('credential '));
    expect(told).toMatchObject([
      [{ tenantUuid: HARBOUR, credential, by, scopes: ['locations:read'] }, 'credential created'],
      [{ tenantUuid: HARBOUR, credential, by }, 'credential revoked'],
    ]);
    expect(JSON.stringify(lines)).not.toContain(apiKey.slice(12));
    const knex = openDatabase(databaseUrlOf(service.config));
    const row = await knex('api_keys').where('key_id', keyId).first();
    await knex.destroy();
    expect(row).toMatchObject({ created_by: by, ended_by: by, secret_hash: hashSecret(apiKey.slice(12)) });
    expect(JSON.stringify(row)).not.toContain(apiKey.slice(12));
  });

  it.each([
    [{ scopes: ['locations:read'] }, /^name: required: must be text of 1 to 100 characters/],
    [{ name: ' ', scopes: ['locations:read'] }, /^name: must be text/],
    [{ name: 'x'.repeat(101), scopes: ['locations:read'] }, /^name: must be text/],
    [{ name: 'two\nlines', scopes: ['locations:read'] }, /^name: must be text/],
    [{ name: 'evil\u202egnp', scopes: ['locations:read'] }, /^name: must be text/],
    [{ name: 'a' }, /^scopes: required: must be a list of at least one scope/],
    [{ name: 'a', scopes: [] }, /^scopes: must be a list of at least one scope/],
    [{ name: 'a', scopes: ['everything'] }, /^scopes\.0: must be one of locations:read/],
    [{ name: 'a', scopes: ['org:write'], expiresAt: 'soon' }, /^expiresAt: must be an RFC 3339 date-time/],
    [
      { name: 'a', scopes: ['org:write'], expiresAt: '2026-06-01T12:00:00.250Z' },
      /^expiresAt: must be in the/,
    ],
  ])('needs a proper request: %j is 400', async (body, message) => {
    for (const at of [KEYS, CLIENTS])
      expect(refusalOf(await create(at, body), 'INVALID_REQUEST_BODY')).toMatch(message);
    expect(await keys()).toHaveLength(5);
  });

  it('is created once where its form is submitted twice', async () => {
    const body = { name: 'Twice', scopes: ['locations:read'] };
    for (const at of [KEYS, CLIENTS]) {
      const answers = await Promise.all([create(at, body), create(at, { ...body, name: 'TWICE' })]);
      expect(answers.map(({ status }) => status).sort()).toEqual([201, 400]);
      const refused = answers.find(({ status }) => status === 400);
      if (refused)
        expect(refusalOf(refused, 'INVALID_REQUEST_BODY')).toMatch(/^name: another active .* uses it/);
    }
    const twice = (await keys()).find(({ name }) => /twice/i.test(name ?? ''));
    await service.call('DELETE', `${KEYS}/${twice?.keyId}`);
    await newKey({ name: 'Twice' });
  });

  it('finds room for a hundred active ones; of ended ones a hundred are kept, and they stay ended', async () => {
    const provisioned = (await keys()).length;
    const issued = [];
    for (let i = provisioned; i < 100; i++) issued.push(await newKey({ name: `Key ${i}` }));
    const more = await create(KEYS, { name: 'One more', scopes: ['locations:read'] });
    expect(refusalOf(more, 'INVALID_REQUEST_BODY')).toMatch(/at most 100 active API keys/);
    const rival = { name: 'Another tenant', scopes: ['locations:read'] };
    expect((await create(KEYS, rival, { 'x-api-key': apiKeyOf(RIVAL) })).status).toBe(201);
    for (const { keyId } of issued) {
      clock.stall(1);
      bodyOf(await service.call('DELETE', `${KEYS}/${keyId}`), apiKeySchema);
    }
    for (let i = 0; i < 10; i++) {
      clock.stall(1);
      const { keyId } = await newKey({ name: `Later ${i}` });
      await service.call('DELETE', `${KEYS}/${keyId}`);
    }
    await newKey({ name: 'Last' });
    const ended = (await keys()).filter(({ state }) => state === 'revoked');
    expect(ended).toHaveLength(100);
    expect(ended.map(({ keyId }) => keyId)).not.toContain(issued[0]?.keyId);
    for (const each of [issued[0], issued.at(-1)])
      refusalOf(await limits({ 'x-api-key': each?.apiKey ?? '' }), 'UNAUTHORIZED');
  });
});

describe('the right to create credentials', () => {
  it('is never implied: a key that names no scopes has not got it', async () => {
    for (const at of [KEYS, CLIENTS]) {
      refusalOf(await service.send('GET', at, { headers: as('usual000') }), 'INSUFFICIENT_SCOPE');
      const body = { name: 'Sneaked in', scopes: ['locations:read'] };
      refusalOf(await create(at, body, as('usual000')), 'INSUFFICIENT_SCOPE');
      const spare = `${at}/${spareOf(HARBOUR)}`;
      refusalOf(await service.send('DELETE', spare, { headers: as('usual000') }), 'INSUFFICIENT_SCOPE');
    }
    expect((await keys()).find(({ keyId }) => keyId === spareOf(HARBOUR))).toMatchObject({ state: 'active' });
  });

  it('grants no scope that the credential lacks, and no expiry after its own', async () => {
    const wide = { name: 'Wider', scopes: ['locations:read', 'locations:write'] };
    for (const at of [KEYS, CLIENTS]) {
      expect(refusalOf(await create(at, wide, as('narrow00')), 'INSUFFICIENT_SCOPE')).toContain(
        'lacks locations:write',
      );
      const within = { name: 'Within', scopes: ['locations:read'] };
      for (const expiresAt of [undefined, null, new Date(NOW_MS + HOUR_MS + 1).toISOString()]) {
        const answer = await create(at, { ...within, expiresAt }, as('passing0'));
        expect(refusalOf(answer, 'INVALID_REQUEST_BODY')).toMatch(
          /^expiresAt: must not be after 2026-06-01T13/,
        );
      }
      const expiresAt = new Date(NOW_MS + HOUR_MS).toISOString();
      expect((await create(at, { ...within, expiresAt }, as('passing0'))).status).toBe(201);
    }
    const list = await service.send('GET', KEYS, { headers: as('passing0') });
    expect(bodyOf(list, apiKeyListSchema)).toMatchObject({
      grantableScopes: ['locations:read', 'credentials:write'],
      latestExpiresAt: new Date(NOW_MS + HOUR_MS).toISOString(),
    });
  });

  it('is as narrow in a token as the token: a narrowed one grants less than its client has', async () => {
    const body = {
      grant_type: 'client_credentials',
      client_id: `client-${HARBOUR.slice(0, 8)}`,
      client_secret: 'client secret',
      scope: 'credentials:write locations:read',
    };
    const { access_token } = bodyOf(
      await service.send('POST', '/oauth/token', { body }),
      tokenResponseSchema,
    );
    const headers = { authorization: `Bearer ${access_token}` };
    const wide = { name: 'Wider', scopes: SCOPES };
    refusalOf(await create(KEYS, wide, headers), 'INSUFFICIENT_SCOPE');
    expect(await newKey({}, headers)).toMatchObject({ createdBy: `client:client-${HARBOUR.slice(0, 8)}` });
  });

  it('has gone where the credential ended while the body of its request was still to come', async () => {
    const admin = await newKey({ name: 'Admin', scopes: ['credentials:write', 'locations:read'] });
    const body = JSON.stringify({ name: 'Too late', scopes: ['locations:read'] });
    const slow = httpRequest(`${service.httpUrl}/v1${KEYS}`, {
      method: 'POST',
      headers: {
        'x-api-key': admin.apiKey,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      },
    });
    const answered = new Promise<number | undefined>((resolve, reject) => {
      slow.on('response', (response) => resolve(response.resume().statusCode)).on('error', reject);
    });
    slow.write(body.slice(0, 5));
    // The service accepted the request, so it records the use.
    await eventually(async () => {
      const found = (await keys()).find(({ keyId }) => keyId === admin.keyId);
      expect(found?.lastUsedAt).not.toBeNull();
    });
    await service.call('DELETE', `${KEYS}/${admin.keyId}`);
    slow.end(body.slice(5));
    expect(await answered).toBe(401);
    expect((await keys()).map(({ name }) => name)).not.toContain('Too late');
  });
});

describe('a credential that is ended', () => {
  it('opens nothing from the next request on; ending it again changes nothing', async () => {
    const { apiKey, keyId } = await newKey();
    expect((await limits({ 'x-api-key': apiKey })).status).toBe(200);
    const by = `apiKey:${HARBOUR.slice(0, 8)}`;
    const revoked = bodyOf(await service.call('DELETE', `${KEYS}/${keyId}`), apiKeySchema);
    const revokedAt = new Date(NOW_MS).toISOString();
    expect(revoked).toMatchObject({ keyId, state: 'revoked', revokedAt, revokedBy: by });
    refusalOf(await limits({ 'x-api-key': apiKey }), 'UNAUTHORIZED');
    clock.stall(5);
    const again = bodyOf(await service.call('DELETE', `${KEYS}/${keyId}`), apiKeySchema);
    expect(again).toMatchObject({ state: 'revoked', revokedAt });
  });

  it('takes the tokens with it that were issued before', async () => {
    const { clientId, clientSecret } = await newClient();
    const headers = await bearer(clientId, clientSecret);
    expect((await limits(headers)).status).toBe(200);
    const disabled = bodyOf(await service.call('DELETE', `${CLIENTS}/${clientId}`), oauthClientSchema);
    expect(disabled).toMatchObject({ clientId, state: 'disabled' });
    refusalOf(await limits(headers), 'UNAUTHORIZED');
    expect((await tokenOf(clientId, clientSecret)).status).toBe(401);
  });

  it('takes its tokens with it where it expires, which end no later than it does', async () => {
    const expiresAt = new Date(NOW_MS + 90_000).toISOString();
    const { clientId, clientSecret } = await newClient({ expiresAt });
    const token = bodyOf(await tokenOf(clientId, clientSecret), tokenResponseSchema);
    expect(token.expires_in).toBe(90);
    const headers = { authorization: `Bearer ${token.access_token}` };
    clock.stall(90_000 - 1);
    expect((await limits(headers)).status).toBe(200);
    clock.stall(1);
    refusalOf(await limits(headers), 'UNAUTHORIZED');
    expect((await tokenOf(clientId, clientSecret)).status).toBe(401);
    const { clients } = bodyOf(await service.call('GET', CLIENTS), oauthClientListSchema);
    expect(clients).toContainEqual(expect.objectContaining({ clientId, state: 'expired' }));
  });

  it('may be the one that asks', async () => {
    const admin = await newKey({ scopes: ['credentials:write'] });
    const headers = { 'x-api-key': admin.apiKey };
    const answer = await service.send('DELETE', `${KEYS}/${admin.keyId}`, { headers });
    expect(bodyOf(answer, apiKeySchema)).toMatchObject({ isCaller: true, state: 'revoked' });
    refusalOf(await service.send('GET', KEYS, { headers }), 'UNAUTHORIZED');
  });

  it('stays ended where all credentials were read before that, and are put in force after it', async () => {
    let letGo = () => {};
    let hasRead = () => {};
    const read = new Promise<void>((resolve) => {
      hasRead = resolve;
    });
    let isHeld = false;
    const wrapStore = (store: Store): Store => ({
      ...store,
      async loadCredentials() {
        const found = await store.loadCredentials();
        if (!isHeld) return found;
        hasRead();
        await new Promise<void>((resolve) => {
          letGo = resolve;
        });
        return found;
      },
    });
    service = await service.restart({ clock, log: silentLog, wrapStore });
    const { apiKey, keyId } = await newKey();
    const { clientId, clientSecret } = await newClient();
    const headers = await bearer(clientId, clientSecret);
    isHeld = true;
    clock.advance(1000);
    await read;
    const fresh = await newKey({ name: 'Fresh' });
    await service.call('DELETE', `${KEYS}/${keyId}`);
    await service.call('DELETE', `${CLIENTS}/${clientId}`);
    isHeld = false;
    letGo();
    // The credentials read earlier are in force now; no other sign of that exists.
    await new Promise<void>((resolve) => setImmediate(resolve));
    refusalOf(await limits({ 'x-api-key': apiKey }), 'UNAUTHORIZED');
    refusalOf(await limits(headers), 'UNAUTHORIZED');
    expect((await limits({ 'x-api-key': fresh.apiKey })).status).toBe(200);
  });
});

describe('credentials of another tenant', () => {
  it('are neither listed nor ended, and answer as unknown ones do: 404 NOT_FOUND', async () => {
    const foreign = spareOf(RIVAL);
    for (const at of [KEYS, CLIENTS]) {
      const ofRival = await service.call('DELETE', `${at}/${foreign}`);
      const ofNobody = await service.call('DELETE', `${at}/Sno00one`);
      expect(refusalOf(ofRival, 'NOT_FOUND').replace(foreign, '')).toBe(
        refusalOf(ofNobody, 'NOT_FOUND').replace('Sno00one', ''),
      );
    }
    const listed = (await keys()).map(({ keyId }) => keyId);
    expect(listed).not.toContain(foreign);
    expect((await keys(RIVAL)).map(({ keyId, state }) => [keyId, state])).toContainEqual([foreign, 'active']);
  });

  it('are not created by naming the tenant in the body', async () => {
    await create(KEYS, { name: 'Foreign', scopes: ['locations:read'], tenantUuid: RIVAL });
    expect((await keys()).map(({ name }) => name)).toContain('Foreign');
    expect((await keys(RIVAL)).map(({ name }) => name)).not.toContain('Foreign');
  });
});

describe('the last use of a credential', () => {
  it('is recorded at once, costs a write a minute at any number of requests, and outlives a restart', async () => {
    let writes = 0;
    const wrapStore = (store: Store): Store => ({
      ...store,
      noteCredentialUses(uses) {
        writes++;
        return store.noteCredentialUses(uses);
      },
    });
    service = await service.restart({ clock, wrapStore });
    const { apiKey, keyId } = await newKey();
    const { clientId, clientSecret } = await newClient();
    const lastUse = async () => (await keys()).find((key) => key.keyId === keyId)?.lastUsedAt;
    expect(await lastUse()).toBeNull();
    for (let i = 0; i < 20; i++) {
      clock.advance(1000);
      await limits({ 'x-api-key': apiKey });
    }
    const usedAt = new Date(NOW_MS + 20_000).toISOString();
    expect(await lastUse()).toBe(usedAt);
    expect(writes).toBe(0);
    await limits(await bearer(clientId, clientSecret));
    clock.advance(40_000);
    await eventually(async () => expect(writes).toBe(1));
    service = await service.restart({ clock });
    expect(await lastUse()).toBe(usedAt);
    const { clients } = bodyOf(await service.call('GET', CLIENTS), oauthClientListSchema);
    expect(clients.find((client) => client.clientId === clientId)?.lastUsedAt).toBe(usedAt);
  });
});
