// The token endpoint with three OAuth client libraries, each in all its ways to authenticate.
import { readFileSync } from 'node:fs';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import { ClientCredentials } from 'simple-oauth2';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toErrorDescription, tokenErrorSchema } from '../../../src/features/tokens/contract.js';
import { CLIENT, createRig, type Rig } from './http-rig.js';

const SCOPE = 'locations:read clusters:read';
let rig: Rig;

beforeAll(async () => {
  rig = await createRig();
});
afterAll(() => rig.stop());

async function expectUsable(token: unknown): Promise<void> {
  const headers = { authorization: `Bearer ${token}` };
  expect((await rig.call('GET', '/v1/locations/quay-1/limits', { headers })).status).toBe(200);
  expect((await rig.call('GET', '/v1/organizations/limits', { headers })).status).toBe(403);
}

describe('openid-client', () => {
  it.each([
    ['HTTP Basic', openid.ClientSecretBasic],
    ['the body', openid.ClientSecretPost],
  ])('gets a token with the secret in %s', async (_, authentication) => {
    const server = { issuer: rig.url, token_endpoint: `${rig.url}/v1/oauth/token` };
    const config = new openid.Configuration(server, CLIENT.id, CLIENT.secret, authentication(CLIENT.secret));
    openid.allowInsecureRequests(config);
    const token = await openid.clientCredentialsGrant(config, { scope: SCOPE });
    expect([token.expires_in, token.scope]).toEqual([3600, SCOPE]);
    await expectUsable(token.access_token);
  });

  it('reports a wrong secret as refused', async () => {
    const server = { issuer: rig.url, token_endpoint: `${rig.url}/v1/oauth/token` };
    const config = new openid.Configuration(server, CLIENT.id, 'wrong', openid.ClientSecretBasic('wrong'));
    openid.allowInsecureRequests(config);
    await expect(openid.clientCredentialsGrant(config)).rejects.toMatchObject({ status: 401 });
  });
});

describe('oauth4webapi', () => {
  it.each([
    ['HTTP Basic', oauth.ClientSecretBasic],
    ['the body', oauth.ClientSecretPost],
  ])('gets a token with the secret in %s', async (_, authentication) => {
    const server = { issuer: rig.url, token_endpoint: `${rig.url}/v1/oauth/token` };
    const client = { client_id: CLIENT.id };
    const answer = await oauth.clientCredentialsGrantRequest(
      server,
      client,
      authentication(CLIENT.secret),
      { scope: SCOPE },
      { [oauth.allowInsecureRequests]: true },
    );
    const token = await oauth.processClientCredentialsResponse(server, client, answer);
    expect([token.token_type, token.scope]).toEqual(['bearer', SCOPE]);
    await expectUsable(token.access_token);
  });
});

describe('simple-oauth2', () => {
  it.each([
    ['HTTP Basic, a form', { authorizationMethod: 'header', bodyFormat: 'form' }],
    ['HTTP Basic, JSON', { authorizationMethod: 'header', bodyFormat: 'json' }],
    ['HTTP Basic, not percent-encoded', { authorizationMethod: 'header', credentialsEncodingMode: 'loose' }],
    ['the body, a form', { authorizationMethod: 'body', bodyFormat: 'form' }],
    ['the body, JSON', { authorizationMethod: 'body', bodyFormat: 'json' }],
  ] as const)('gets a token with the secret in %s', async (_, options) => {
    const client = new ClientCredentials({
      client: CLIENT,
      auth: { tokenHost: rig.url, tokenPath: '/v1/oauth/token' },
      options,
    });
    const { token } = await client.getToken({ scope: SCOPE });
    await expectUsable(token.access_token);
  });
});

/** The error that a library throws, with the answer's body, which each library stores elsewhere. */
interface Refused {
  readonly name: string;
  readonly code: unknown;
  readonly body: unknown;
}

interface LibraryError extends Error {
  readonly code?: unknown;
  readonly response?: Response;
  readonly data?: { readonly payload: unknown };
}

async function refusedBy(library: string, secret: string, scope?: string): Promise<Refused> {
  const server = { issuer: rig.url, token_endpoint: `${rig.url}/v1/oauth/token` };
  const parameters: Record<string, string> = scope === undefined ? {} : { scope };
  const error: LibraryError = await (library === 'simple-oauth2'
    ? new ClientCredentials({
        client: { id: CLIENT.id, secret },
        auth: { tokenHost: rig.url, tokenPath: '/v1/oauth/token' },
      }).getToken(parameters)
    : library === 'openid-client'
      ? openidGrant(server, secret, parameters)
      : oauth4webapiGrant(server, secret, parameters)
  ).then(
    () => new Error('it was not refused'),
    (thrown: LibraryError) => thrown,
  );
  const answer = error.response ?? (error.cause instanceof Response ? error.cause : undefined);
  return {
    name: error.constructor.name,
    code: error.code,
    body: error.data?.payload ?? (await answer?.json()),
  };
}

function openidGrant(server: openid.ServerMetadata, secret: string, parameters: Record<string, string>) {
  const config = new openid.Configuration(server, CLIENT.id, secret, openid.ClientSecretBasic(secret));
  openid.allowInsecureRequests(config);
  return openid.clientCredentialsGrant(config, parameters);
}

async function oauth4webapiGrant(
  server: oauth.AuthorizationServer,
  secret: string,
  parameters: Record<string, string>,
) {
  const client = { client_id: CLIENT.id };
  const authentication = oauth.ClientSecretBasic(secret);
  const options = { [oauth.allowInsecureRequests]: true };
  const answer = await oauth.clientCredentialsGrantRequest(
    server,
    client,
    authentication,
    parameters,
    options,
  );
  return oauth.processClientCredentialsResponse(server, client, answer);
}

describe('the table of the REST guide', () => {
  const guide = readFileSync('docs/rest-guide.md', 'utf8');

  it.each(['openid-client', 'oauth4webapi', 'simple-oauth2'])(
    'shows the error of %s, and the place of the envelope',
    async (library) => {
      const wrong = await refusedBy(library, 'wrong');
      const lacking = await refusedBy(library, CLIENT.secret, 'everything');
      for (const [{ body }, code] of [
        [wrong, 'UNAUTHORIZED'],
        [lacking, 'INSUFFICIENT_SCOPE'],
      ] as const) {
        const { error, error_description } = tokenErrorSchema.parse(body);
        expect([error.code, error_description]).toEqual([code, toErrorDescription(error.message)]);
      }
      const cells = [wrong, lacking].map(({ name, code }) =>
        code === undefined ? `\`${name}\`` : `\`${name}\`, \`${code}\``,
      );
      expect(guide).toContain(`| ${library} | ${cells.join(' | ')} | `);
    },
  );
});
