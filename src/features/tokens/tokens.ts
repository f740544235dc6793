// `POST /v1/oauth/token`: the client-credentials grant of RFC 6749 section 4.4, for a client that has authenticated.
import { DomainError } from '../../../machines/values/errors.js';
import { SCOPES, type Scope } from '../../../machines/values/scopes.js';
import type { EpochMs } from '../../../machines/values/time.js';
import type { CredentialRecord } from '../../ports/credentials.js';
import type { EndpointDescription } from '../../wire/openapi.js';
import {
  type TokenRequest,
  type TokenResponse,
  tokenErrorSchema,
  tokenRequestSchema,
  tokenResponseSchema,
} from './contract.js';

/** Seconds (contract section 5, rule 3). */
export const TOKEN_LIFETIME_S = 3600;

interface TokenIssue {
  /** Signs a token that expires `TOKEN_LIFETIME_S` from `now`. */
  readonly sign: (client: CredentialRecord, scopes: readonly Scope[]) => string;
  readonly client: CredentialRecord;
  readonly now: EpochMs;
}

export const issueToken = {
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
  handle({ sign, client, now }: TokenIssue, { scope }: TokenRequest): TokenResponse {
    const scopes = narrow(client.scopes, scope);
    return {
      access_token: sign(client, scopes),
      token_type: 'Bearer',
      expires_in: lifetimeS(client, now),
      scope: scopes.join(' '),
    };
  },
} as const satisfies EndpointDescription & { readonly handle: unknown };

/** A token ends with its client, if that expires sooner. */
function lifetimeS({ expiresAtMs }: CredentialRecord, now: EpochMs): number {
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
