// `POST /v1/oauth/token`: the client-credentials grant of RFC 6749 section 4.4.
import type { Request } from 'express';
import { DomainError } from '../../../../machines/values/errors.js';
import type { EpochMs } from '../../../../machines/values/time.js';
import type { Clock } from '../../../ports/clock.js';
import type { OauthClientRecord } from '../../../ports/credentials.js';
import { SCOPES, type Scope } from '../../../ports/records.js';
import { toJson } from '../../../wire/json.js';
import {
  type TokenResponse,
  tokenErrorSchema,
  tokenRequestSchema,
  tokenResponseSchema,
} from '../../../wire/oauth.js';
import type { EndpointDescription } from '../../../wire/openapi.js';
import type { Handler } from '../endpoint.js';
import { type BodyReader, parseBody } from '../endpoint.js';
import { sendJson } from '../exchange.js';
import { TOKEN_LIFETIME_S, type Tokens } from '../tokens.js';

export const TOKEN_ENDPOINT = {
  operationId: 'issueToken',
  method: 'post',
  path: '/v1/oauth/token',
  tag: 'credentials',
  summary: 'Exchange client credentials for an access token',
  scope: undefined,
  requestSchema: tokenRequestSchema,
  consumes: ['application/x-www-form-urlencoded', 'application/json'],
  status: 200,
  responseSchema: tokenResponseSchema,
  errors: ['UNAUTHORIZED', 'INSUFFICIENT_SCOPE', 'RATE_LIMITED'],
  errorSchema: tokenErrorSchema,
} as const satisfies EndpointDescription;

export function createTokenHandler(options: {
  readonly tokens: Tokens;
  readonly readBody: BodyReader;
  readonly clock: Clock;
  readonly authenticateClient: (request: Request, body: unknown) => Promise<OauthClientRecord>;
}): Handler {
  const { tokens, readBody, authenticateClient, clock } = options;
  return async (request, response) => {
    const body = await readBody(request, response);
    const client = await authenticateClient(request, body);
    const scopes = narrow(client.scopes, parseBody(tokenRequestSchema, body).scope);
    const answer: TokenResponse = {
      access_token: tokens.issue(client, scopes),
      token_type: 'Bearer',
      expires_in: lifetimeS(client, clock.nowMs()),
      scope: scopes.join(' '),
    };
    sendJson(response, 200, toJson(answer), { pragma: 'no-cache' });
  };
}

/** A token ends with its client, if that expires sooner. */
function lifetimeS({ expiresAtMs }: OauthClientRecord, now: EpochMs): number {
  if (expiresAtMs === null) return TOKEN_LIFETIME_S;
  return Math.min(TOKEN_LIFETIME_S, Math.max(0, Math.floor((expiresAtMs - now) / 1000)));
}

/** The requested part of the client's scopes, or all of them. @throws DomainError INSUFFICIENT_SCOPE */
function narrow(held: readonly Scope[], asked: string | undefined): readonly Scope[] {
  const names = asked?.split(' ').filter((name) => name !== '') ?? [];
  const lacking = names.find((name) => !held.some((scope) => scope === name));
  if (lacking !== undefined) {
    throw new DomainError(
      'INSUFFICIENT_SCOPE',
      `The client requests a scope that it lacks: it has ${held.join(' ') || 'none'}.`,
    );
  }
  return SCOPES.filter((scope) => (names.length === 0 ? held : names).some((name) => name === scope));
}
