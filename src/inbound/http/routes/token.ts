// The HTTP side of `POST /v1/oauth/token`: it identifies the client, and hands the request over.
import { DomainError } from '../../../../machines/values/errors.js';
import { clientCredentialSchema } from '../../../features/tokens/contract.js';
import { issueToken } from '../../../features/tokens/tokens.js';
import type { PasswordCheck } from '../../../password-check.js';
import type { Clock } from '../../../ports/clock.js';
import type { CredentialRecord } from '../../../ports/credentials.js';
import { type FailedSignIns, tooManyFailures } from '../access.js';
import { type CredentialDirectory, type CredentialUses, isInForce } from '../credentials.js';
import { type BodyReader, type Handler, parseBody } from '../endpoint-handler.js';
import { type Exchange, sendJson, toJson } from '../exchange.js';
import { Refusal } from '../refusal.js';
import type { Tokens } from '../tokens.js';

export function createTokenHandler(options: {
  readonly tokens: Tokens;
  readonly readBody: BodyReader;
  readonly clock: Clock;
  readonly authenticateClient: (exchange: Exchange, body: unknown) => Promise<CredentialRecord>;
}): Handler {
  const { tokens, readBody, authenticateClient, clock } = options;
  return async (exchange) => {
    const body = await readBody(exchange);
    const client = await authenticateClient(exchange, body);
    const asked = parseBody(issueToken.requestSchema, body);
    const answer = issueToken.handle({ sign: tokens.issue, client, now: clock.nowMs() }, asked);
    sendJson(exchange, issueToken.status, toJson(answer), { pragma: 'no-cache' });
  };
}

// Identifies the OAuth client of a token request: by HTTP Basic or by the body, never both (RFC 6749 section 2.3).
interface ClientCredential {
  readonly clientId: string;
  readonly secret: string;
}

const BASIC = /^Basic +([A-Za-z0-9+/=_-]+) *$/i;

/**
 * Returns a function from a token request to its client.
 * @throws Refusal UNAUTHORIZED, the same for every mistake; RATE_LIMITED after too many failures; DomainError
 * INVALID_REQUEST_BODY if the request authenticates twice.
 */
export function createAuthenticateClient(options: {
  readonly credentials: CredentialDirectory;
  readonly passwordCheck: PasswordCheck;
  readonly failedSignIns: FailedSignIns;
  readonly clock: Clock;
  readonly uses: CredentialUses;
}): (exchange: Exchange, body: unknown) => Promise<CredentialRecord> {
  const { credentials, passwordCheck, failedSignIns, clock, uses } = options;

  async function clientOf(
    { clientId, secret }: ClientCredential,
    address: string,
  ): Promise<CredentialRecord | undefined> {
    const stored = credentials.find('client', clientId)?.secretHash;
    const verdict = await passwordCheck.check({ address, name: clientId, password: secret, stored });
    // The client may have changed during the check of its secret.
    const client = credentials.find('client', clientId);
    const isRight = verdict.is === 'right' && client?.secretHash === stored;
    if (isRight && client !== undefined && isInForce(client, clock.nowMs())) {
      uses.note(client);
      return client;
    }
    const reason = client === undefined ? 'no such client' : isRight ? 'disabled or expired' : 'wrong secret';
    failedSignIns.report({ via: 'token', address, clientId, reason });
    if (verdict.is === 'later') throw tooManyFailures(verdict.waitMs);
    return undefined;
  }

  return async ({ request, address }, body) => {
    for (const credential of presented(request.headers.authorization, body)) {
      const client = await clientOf(credential, address);
      if (client !== undefined) return client;
    }
    throw new Refusal(
      'UNAUTHORIZED',
      'The client is unknown, disabled, or its secret is wrong: send client_id and client_secret by HTTP Basic or in the body.',
      { 'www-authenticate': 'Basic realm="headroom", charset="UTF-8"' },
    );
  };
}

/**
 * Possible readings of the request. Basic parts are percent-encoded, as
 * the RFC asks, or plain, as many clients send them.
 */
function presented(authorization: string | undefined, body: unknown): readonly ClientCredential[] {
  const { client_id: clientId, client_secret: secret } = parseBody(clientCredentialSchema, body);
  const basic = BASIC.exec(authorization ?? '')?.[1];
  if (basic === undefined) {
    return clientId === undefined || secret === undefined ? [] : [{ clientId, secret }];
  }
  const text = Buffer.from(basic, 'base64').toString();
  const colon = text.indexOf(':');
  if (colon === -1) return [];
  const plain = { clientId: text.slice(0, colon), secret: text.slice(colon + 1) };
  const decoded = { clientId: formDecode(plain.clientId), secret: formDecode(plain.secret) };
  if (secret !== undefined) {
    throw new DomainError('INVALID_REQUEST_BODY', 'client_secret: sent by HTTP Basic too; use one of them');
  }
  if (clientId !== undefined && clientId !== decoded.clientId && clientId !== plain.clientId) {
    throw new DomainError(
      'INVALID_REQUEST_BODY',
      'client_id: must be the one sent by HTTP Basic, or left out',
    );
  }
  const isSame = decoded.clientId === plain.clientId && decoded.secret === plain.secret;
  return isSame ? [plain] : [decoded, plain];
}

/** RFC 6749 appendix B; text that is not encoded stays as it is. */
function formDecode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}
