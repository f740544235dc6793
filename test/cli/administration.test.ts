// Changes by the command line beside a running service, which follows them without a restart.
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../eventually.js';
import { run, runJson, serve, start, temporaryDirectory, writeFile } from './headroom.js';
import { type ServedSite, serveSite } from './served-site.js';
import { API_KEY, siteYaml, TENANT } from './site.js';

let site: ServedSite;
beforeAll(async () => {
  site = await serveSite();
});
afterAll(() => site.close());

async function limits(headers: Record<string, string>): Promise<number> {
  return (await fetch(`${site.httpUrl}/v1/locations/quay-1/limits`, { headers })).status;
}

async function token(id: string, secret: string) {
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: id,
    client_secret: secret,
  });
  const response = await fetch(`${site.httpUrl}/v1/oauth/token`, { method: 'POST', body });
  return { status: response.status, body: (await response.json()) as { access_token: string } };
}

describe('The command line', () => {
  it('lists tenants as a table and as JSON', async () => {
    expect((await run(['tenant', 'list'], site.environment)).stdout).toMatch(
      /TENANT +NAME +FEATURES +LOCATIONS +CONNECTORS *\nharbour +Harbour Charging +energy-management +1 +1/,
    );
    expect(await runJson(['tenant', 'list'], site.environment)).toEqual([
      {
        tenantUuid: TENANT,
        name: 'Harbour Charging',
        features: ['energy-management'],
        locations: 1,
        connectors: 1,
      },
    ]);
  });

  it('migrates a new database once, before the first start of a service', async () => {
    const directory = temporaryDirectory();
    const environment = { HEADROOM_DATABASE_URL: `sqlite:${directory}/fresh.sqlite` };
    expect((await runJson(['migrate'], environment)).migrations).not.toHaveLength(0);
    expect(await runJson(['migrate'], environment)).toEqual({ migrations: [] });
    expect(existsSync(join(directory, 'fresh.sqlite'))).toBe(true);
  });

  it.each([
    [['key', 'issue', 'nobody'], /^headroom: there is no tenant "nobody"; "headroom tenant list" lists/],
    [['key', 'issue', TENANT, '--scope', 'all'], /'all' is invalid\. Allowed choices are locations:read/],
    [
      ['key', 'issue', TENANT, '--expires', 'tomorrow'],
      /'tomorrow' is invalid\. It must be an RFC 3339 date-time/,
    ],
    [['key', 'issue', TENANT, '--expires', '2020-01-01T00:00:00Z'], /is invalid\. It must be in the future/],
    [['key', 'issue'], /missing required argument 'tenant'/],
    [['key', 'revoke', 'nosuchid'], /^headroom: there is no key nosuchid/],
    [['client', 'disable', 'nobody'], /^headroom: there is no client nobody/],
    [
      ['client', 'create', TENANT, '--id', 'harbour-backend'],
      /^headroom: client id harbour-backend is taken/,
    ],
    [['client', 'create', TENANT, '--id', 'a b'], /'a b' is invalid\. It must be 1 to 128 characters/],
    [
      ['feature', 'enable', TENANT, 'free-energy'],
      /'free-energy' is invalid.*\. Allowed choices are energy-management/,
    ],
    [['feature', 'enable', 'nobody', 'energy-management'], /^headroom: there is no tenant "nobody"/],
    [['token-key', 'rotate', '--token-keys', '{"keys":[]}'], /^headroom: the token keys are given as JSON/],
    [['tenants', 'list'], /unknown command 'tenants'\n\(Did you mean tenant\?\)/],
  ])('refuses %j with the reason and exit code 2', async (args, message) => {
    const { code, stdout, stderr } = await run(args, site.environment);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/^\s+at /m);
  });
});

describe('The command line beside a running service', () => {
  it('issues, lists and revokes API keys', async () => {
    const { environment } = site;
    const issued = await runJson(['key', 'issue', TENANT, '--scope', 'locations:read'], environment);
    await eventually(async () => expect(await limits({ 'x-api-key': issued.key })).toBe(200));
    expect(await runJson(['key', 'list', TENANT], environment)).toContainEqual({
      keyId: issued.keyId,
      name: null,
      tenantUuid: TENANT,
      scopes: ['locations:read'],
      createdAt: expect.any(String),
      createdBy: null,
      expiresAt: null,
      lastUsedAt: null,
      state: 'active',
    });
    await run(['key', 'revoke', issued.keyId], environment);
    await eventually(async () => expect(await limits({ 'x-api-key': issued.key })).toBe(401));
    expect((await run(['key', 'list'], environment)).stdout).toMatch(new RegExp(`${issued.keyId}.*revoked`));
  });

  it('grants the scope for credentials only by name, and lists the credentials created with that key', async () => {
    const { environment, httpUrl } = site;
    const at = `${httpUrl}/v1/credentials/clients`;
    const statusOf = async (key: string) => (await fetch(at, { headers: { 'x-api-key': key } })).status;
    const usual = await runJson(['key', 'issue', TENANT], environment);
    expect(usual.scopes).not.toContain('credentials:write');
    await eventually(async () => expect(await statusOf(usual.key)).toBe(403));
    const scopes = ['credentials:write', 'locations:read'];
    const flags = ['--name', 'Access page', '--scope', ...scopes];
    const admin = await runJson(['key', 'issue', TENANT, ...flags], environment);
    await eventually(async () => expect(await statusOf(admin.key)).toBe(200));
    expect((await run(['key', 'list', TENANT], environment)).stdout).toMatch(
      new RegExp(`${admin.keyId} +Access page +${TENANT} +locations:read credentials:write +never`),
    );
    const answer = await fetch(at, {
      method: 'POST',
      headers: { 'x-api-key': admin.key, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'Back end', scopes: ['locations:read'] }),
    });
    const { clientId, clientSecret } = (await answer.json()) as Record<string, string>;
    expect((await token(clientId ?? '', clientSecret ?? '')).status).toBe(200);
    expect(await runJson(['client', 'list', TENANT], environment)).toContainEqual(
      expect.objectContaining({
        clientId,
        name: 'Back end',
        createdBy: `apiKey:${admin.keyId}`,
        state: 'active',
      }),
    );
    const named = await run(['key', 'issue', TENANT, '--name', 'two\nlines'], environment);
    expect(named).toMatchObject({ code: 2, stderr: expect.stringContaining('It must be text of 1 to 100') });
  });

  it('prints only the new key on stdout, so that a script can read it', async () => {
    const { environment } = site;
    const { stdout, stderr } = await run(
      ['key', 'issue', TENANT, '--expires', '2999-01-01T00:00:00Z', '--scope', 'org:write', 'clusters:read'],
      environment,
    );
    expect(stdout).toMatch(/^hr_\w{8}_\w{43}\n$/);
    expect(stderr).toContain('Scopes: clusters:read org:write. Expires: 2999-01-01T00:00:00.000Z.');
  });

  it('ends with 0 and no error if its output is closed early', async () => {
    const { environment } = site;
    const { process: child, finished } = start(['key', 'list'], environment);
    child.stdout?.destroy();
    expect(await finished).toMatchObject({ code: 0, stderr: '' });
  });

  it('disables and enables the feature of a tenant', async () => {
    const { environment } = site;
    await run(['feature', 'disable', TENANT, 'energy-management'], environment);
    await eventually(async () => expect(await limits({ 'x-api-key': API_KEY })).toBe(403));
    await run(['feature', 'enable', TENANT, 'energy-management'], environment);
    await eventually(async () => expect(await limits({ 'x-api-key': API_KEY })).toBe(200));
  });

  it('creates and disables clients, and ends the tokens of a disabled client', async () => {
    const { environment } = site;
    const client = await runJson(['client', 'create', TENANT, '--id', 'night-job'], environment);
    await eventually(async () => expect((await token('night-job', client.clientSecret)).status).toBe(200));
    const authorization = `Bearer ${(await token('night-job', client.clientSecret)).body.access_token}`;
    expect(await limits({ authorization })).toBe(200);
    await run(['client', 'disable', 'night-job'], environment);
    await eventually(async () => expect(await limits({ authorization })).toBe(401));
    expect(await runJson(['client', 'list', TENANT], environment)).toContainEqual(
      expect.objectContaining({ clientId: 'night-job', state: 'disabled' }),
    );
  });

  it('creates the first token key, for nodes that share it, if there is none', async () => {
    const dataDir = join(temporaryDirectory(), 'keys');
    const made = await run(['token-key', 'rotate', '--data-dir', dataDir]);
    expect(made).toMatchObject({
      code: 0,
      stderr: `The first key is in ${join(dataDir, 'token-keys.json')}.\n`,
    });
    const file = join(dataDir, 'token-keys.json');
    expect(JSON.parse(readFileSync(file, 'utf8')).keys).toHaveLength(1);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect((await run(['token-key', 'rotate', '--token-keys', join(dataDir, 'other.json')])).code).toBe(2);
  });

  it('rotates the token keys: new tokens get the new key, old tokens stay valid', async () => {
    const { environment } = site;
    const keyOf = (jwt: string) =>
      JSON.parse(Buffer.from(jwt.split('.')[0] ?? '', 'base64url').toString()).kid;
    const ask = async () => (await token('harbour-backend', 'backend-secret')).body.access_token;
    const before = await ask();
    expect(await run(['token-key', 'rotate'], environment)).toMatchObject({ code: 0 });
    await eventually(async () => expect(keyOf(await ask())).not.toBe(keyOf(before)));
    expect(await limits({ authorization: `Bearer ${before}` })).toBe(200);
  });

  it('provisions a location that is then served', async () => {
    const { directory, environment, httpUrl } = site;
    const grown = writeFile(
      directory,
      'grown.yaml',
      siteYaml().replace(
        '    gateways:',
        '      - { locationId: quay-2, name: Quay 2, permanentLimitKw: 7 }\n    gateways:',
      ),
    );
    expect(await run(['provision', grown], environment)).toMatchObject({ code: 0 });
    await eventually(async () => {
      const response = await fetch(`${httpUrl}/v1/locations/quay-2/limits`, {
        headers: { 'x-api-key': API_KEY },
      });
      expect(await response.json()).toMatchObject({ permanentLimitKw: 7, effectiveLimitKw: 7 });
    });
  });

  it('backs up the database, and a service serves the copy', async () => {
    const { directory, environment } = site;
    const copy = join(directory, 'copy.sqlite');
    expect(await run(['backup', copy], environment)).toMatchObject({ code: 0 });
    const again = await run(['backup', copy], environment);
    expect(again).toMatchObject({ code: 2, stderr: `headroom: ${copy} exists already\n` });
    const { httpUrl } = await serve(join(directory, 'other'), { HEADROOM_DATABASE_URL: `sqlite:${copy}` });
    const response = await fetch(`${httpUrl}/v1/locations/quay-1/limits`, {
      headers: { 'x-api-key': API_KEY },
    });
    expect(response.status).toBe(200);
  });
});
