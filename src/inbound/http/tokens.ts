// Access tokens, signed and verified. A signature is verified once; the rights of a token are checked at every request.
import jwt from 'jsonwebtoken';
import { z } from 'zod';
import type { TenantUuid } from '../../../machines/values/ids.js';
import type { EpochMs } from '../../../machines/values/time.js';
import { boundedCache } from '../../bounded-cache.js';
import { TOKEN_LIFETIME_S } from '../../features/tokens/tokens.js';
import type { Clock } from '../../ports/clock.js';
import type { CredentialRecord } from '../../ports/credentials.js';
import { SCOPES, type Scope } from '../../ports/records.js';
import { secretIdOf } from '../../secrets.js';
import type { TokenKeys } from './token-keys.js';

const ISSUER = 'headroom';
const AUDIENCE = 'headroom';
const ALGORITHM = 'ES256';
const VERIFIED_AT_MOST = 10_000;

const claimsSchema = z.object({
  sub: z.string(),
  tenantUuid: z.string().transform((text) => text as TenantUuid),
  scope: z.string().transform(parseScopes),
  // A token of release 0.1 does not name its secret: it is accepted until it expires.
  secretId: z.string().optional(),
  exp: z.number(),
});

/** Claims of a token. The caller checks that its client still exists and that its tenant may use the service. */
export interface VerifiedToken {
  readonly clientId: string;
  readonly tenantUuid: TenantUuid;
  readonly scopes: readonly Scope[];
  /** The id of the client secret at the time of issue (`secretIdOf`). */
  readonly secretId: string | undefined;
  readonly expiresAtMs: EpochMs;
}

export interface Tokens {
  /** A signed token that expires `TOKEN_LIFETIME_S` from now. */
  issue(client: Pick<CredentialRecord, 'id' | 'tenantUuid' | 'secretHash'>, scopes: readonly Scope[]): string;
  /** A token that was verified recently with keys still in force; it may have expired since. */
  recall(token: string): VerifiedToken | undefined;
  /** Verifies signature, issuer, audience and expiry; undefined if any is wrong. */
  verify(token: string): VerifiedToken | undefined;
  /** The client that a token names. The signature is not checked here. */
  claimedClientId(token: string): string | undefined;
}

export function createTokens({ keys, clock }: { readonly keys: TokenKeys; readonly clock: Clock }): Tokens {
  const verified = boundedCache<VerifiedToken>(VERIFIED_AT_MOST);
  let verifiedWith = keys.current();

  function keysInForce(): ReturnType<TokenKeys['current']> {
    const current = keys.current();
    if (current !== verifiedWith) {
      // A key may have been withdrawn, so remembered tokens are verified again.
      verified.clear();
      verifiedWith = current;
    }
    return current;
  }

  return {
    issue(client, scopes) {
      const { kid, key } = keysInForce().signing;
      const issuedAtS = Math.floor(clock.nowMs() / 1000);
      return jwt.sign(
        {
          iss: ISSUER,
          aud: AUDIENCE,
          sub: client.id,
          tenantUuid: client.tenantUuid,
          scope: scopes.join(' '),
          secretId: secretIdOf(client.secretHash),
          iat: issuedAtS,
          exp: issuedAtS + TOKEN_LIFETIME_S,
        },
        key,
        { algorithm: ALGORITHM, keyid: kid },
      );
    },
    recall(token) {
      keysInForce();
      return verified.get(token);
    },
    verify(token) {
      const found = verifyWith(keysInForce(), token, clock.nowMs());
      if (found !== undefined) verified.set(token, found);
      return found;
    },
    claimedClientId(token) {
      const subject = decode(token)?.payload.sub;
      return typeof subject === 'string' ? subject : undefined;
    },
  };
}

function verifyWith(
  keys: ReturnType<TokenKeys['current']>,
  token: string,
  now: EpochMs,
): VerifiedToken | undefined {
  const header = decode(token)?.header;
  // RFC 7515 section 4.1.11: a recipient must support every extension in `crit`. The service supports none.
  if (header?.kid === undefined || 'crit' in header) return undefined;
  const key = keys.verifying.get(header.kid);
  if (key === undefined) return undefined;
  try {
    const claims = claimsSchema.parse(
      jwt.verify(token, key, {
        algorithms: [ALGORITHM],
        issuer: ISSUER,
        audience: AUDIENCE,
        clockTimestamp: Math.floor(now / 1000),
      }),
    );
    return {
      clientId: claims.sub,
      tenantUuid: claims.tenantUuid,
      scopes: claims.scope,
      secretId: claims.secretId,
      expiresAtMs: claims.exp * 1000,
    };
  } catch {
    return undefined;
  }
}

function decode(token: string): jwt.Jwt | undefined {
  try {
    return jwt.decode(token, { complete: true }) ?? undefined;
  } catch {
    return undefined;
  }
}

/** The known scopes of a space-separated list, in the contract's order. */
function parseScopes(text: string): readonly Scope[] {
  const named = text.split(' ');
  return SCOPES.filter((scope) => named.includes(scope));
}
