// Requests to the service: adds the credential as a header, and converts refusals to `ApiError`.

import type { TokenResponse } from '../../src/features/tokens/contract.js';
import type { Credential } from '../session/credential.js';
import { ApiError, asApiError, errorOf } from './api-error.js';

// Headers that authenticate a request: the API key, or a token that is renewed before it expires.

interface Authorization {
  /** @throws ApiError if the service issues no token. */
  headers(): Promise<Readonly<Record<string, string>>>;
  /** Drops the token. False if there is none to drop: the service refused the credential itself. */
  renew(): boolean;
}

/** A token is not used in the last tenth of its lifetime. */
const USED_SHARE = 0.9;
const VISIBLE_ASCII = /^[!-~]*$/;

function createAuthorization(credential: Credential): Authorization {
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

/** Answer to a write. */
export interface Written<T> {
  readonly body: T;
  /** Sentences for the user about a limit that was written but will not fit. */
  readonly warnings: readonly string[];
}

/** Paths are below `/v1`, built with `path`. Every method throws only `ApiError`, or the error of an abort. */
export interface ApiClient {
  get<T>(path: string, signal?: AbortSignal): Promise<T>;
  post<T>(path: string, body: object): Promise<Written<T>>;
  put<T>(path: string, body: object): Promise<Written<T>>;
  patch<T>(path: string, body: object): Promise<Written<T>>;
  delete<T>(path: string): Promise<Written<T>>;
  /** All pages of a list as one CSV file. */
  table(path: string): Promise<string>;
  /** The response itself, for streams. */
  open(path: string, signal: AbortSignal): Promise<Response>;
}

/** Such as `path\`/locations/${id}/live\``: an id with any characters stays one segment of the path. */
export function path(texts: TemplateStringsArray, ...values: readonly (string | number)[]): string {
  return texts
    .map((text, i) => text + (i < values.length ? encodeURIComponent(values[i] ?? '') : ''))
    .join('');
}

export function createApiClient(options: {
  readonly credential: Credential;
  /** Called after the service refused the credential, at the start or later. */
  readonly onUnauthorized?: (why: string) => void;
}): ApiClient {
  const { credential, onUnauthorized = () => {} } = options;
  const authorization = createAuthorization(credential);

  async function attempt(method: string, below: string, init: RequestInit): Promise<Response> {
    const headers = {
      ...(await authorization.headers()),
      'content-type': 'application/json',
      ...init.headers,
    };
    return fetch(`/v1${below}`, { ...init, method, headers, credentials: 'omit', cache: 'no-store' });
  }

  async function send(method: string, below: string, init: RequestInit): Promise<Response> {
    try {
      let response = await attempt(method, below, init);
      // The token may have been revoked early: a request with a new one shows if the credential is still valid.
      if (response.status === 401 && authorization.renew()) response = await attempt(method, below, init);
      if (!response.ok) throw await errorOf(response);
      return response;
    } catch (thrown) {
      if (init.signal?.aborted) throw thrown;
      const error = asApiError(thrown);
      if (error.status === 401) onUnauthorized(error.message);
      throw error;
    }
  }

  async function write<T>(method: string, below: string, body?: object): Promise<Written<T>> {
    const response = await send(method, below, body === undefined ? {} : { body: JSON.stringify(body) });
    return { body: await bodyOf<T>(response), warnings: warningsOf(response.headers.get('warning')) };
  }

  return {
    async get<T>(below: string, signal?: AbortSignal) {
      const response = await send('GET', below, signal === undefined ? {} : { signal });
      return bodyOf<T>(response, signal);
    },
    post: (below, body) => write('POST', below, body),
    put: (below, body) => write('PUT', below, body),
    patch: (below, body) => write('PATCH', below, body),
    delete: (below) => write('DELETE', below),
    async table(below) {
      const pages: string[] = [];
      for (let next: string | undefined = below; next !== undefined; ) {
        const response = await send('GET', next, { headers: { accept: 'text/csv' } });
        const text = await response.text();
        // Each page begins with the names of the columns.
        pages.push(pages.length === 0 ? text : text.slice(text.indexOf('\n') + 1));
        next = nextPageOf(response.headers.get('link'));
      }
      return pages.join('');
    },
    open: (below, signal) => send('GET', below, { signal }),
  };
}

async function bodyOf<T>(response: Response, signal?: AbortSignal): Promise<T> {
  try {
    return await response.json();
  } catch (thrown) {
    if (signal?.aborted) throw thrown;
    throw new ApiError(0, 'UNREACHABLE', 'The connection was lost in the middle of an answer.');
  }
}

/** The path of the next page below `/v1`, from `</v1/energy?cursor=…>; rel="next"`. */
function nextPageOf(header: string | null): string | undefined {
  return /^<\/v1([^>]*)>; rel="next"$/.exec(header ?? '')?.[1];
}

/** The texts of a `Warning` header: `199 headroom "text"`, with `\"` for a quote. */
function warningsOf(header: string | null): readonly string[] {
  return [...(header ?? '').matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, text = '']) =>
    text.replace(/\\(.)/g, '$1'),
  );
}
