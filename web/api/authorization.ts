// Headers that authenticate a request: the API key, or a token that is renewed before it expires.
import type { TokenResponse } from '../../src/wire/oauth.js';
import type { Credential } from '../session/credential.js';
import { ApiError, errorOf } from './api-error.js';

export interface Authorization {
  /** @throws ApiError if the service issues no token. */
  headers(): Promise<Readonly<Record<string, string>>>;
  /** Drops the token. False if there is none to drop: the service refused the credential itself. */
  renew(): boolean;
}

/** A token is not used in the last tenth of its lifetime. */
const USED_SHARE = 0.9;
const VISIBLE_ASCII = /^[!-~]*$/;

export function createAuthorization(credential: Credential): Authorization {
  if (credential.kind === 'apiKey') {
    const { apiKey } = credential;
    return {
      async headers() {
        // A browser cannot send such a header, and its error would look like an error of the service.
        if (!VISIBLE_ASCII.test(apiKey))
          throw new ApiError(401, 'UNAUTHORIZED', 'The API key has characters that no key has.');
        return { 'x-api-key': apiKey };
      },
      renew: () => false,
    };
  }
  const client = credential;
  let token: Promise<Token> | undefined;

  async function current(): Promise<Token> {
    const asked = token ?? ask();
    const held = await asked;
    if (performance.now() < held.usedUntilMs) return held;
    // If several requests find the token expired, only one of them requests a new one.
    if (token === asked) token = undefined;
    return token ?? ask();
  }

  function ask(): Promise<Token> {
    const asked = requestToken(client.clientId, client.clientSecret);
    token = asked;
    asked.catch(() => {
      if (token === asked) token = undefined;
    });
    return asked;
  }

  return {
    async headers() {
      return { authorization: `Bearer ${(await current()).text}` };
    },
    renew() {
      const isHeld = token !== undefined;
      token = undefined;
      return isHeld;
    },
  };
}

interface Token {
  readonly text: string;
  /** On the monotonic clock of the page. */
  readonly usedUntilMs: number;
}

async function requestToken(clientId: string, clientSecret: string): Promise<Token> {
  const askedAtMs = performance.now();
  const response = await fetch('/v1/oauth/token', {
    method: 'POST',
    // Without this option the browser would show its own password prompt after a refusal.
    credentials: 'omit',
    headers: { authorization: `Basic ${btoa(`${encoded(clientId)}:${encoded(clientSecret)}`)}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
  if (!response.ok) throw await errorOf(response);
  const answer: TokenResponse = await response.json();
  return {
    text: answer.access_token,
    usedUntilMs: askedAtMs + answer.expires_in * 1000 * USED_SHARE,
  };
}

const encoded = encodeURIComponent;
