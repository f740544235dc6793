// `headroom/client`: a typed client of the REST API for Node and browsers. The exports here keep their shape.
import { type EventSourceMessage, EventSourceParserStream } from 'eventsource-parser/stream';
import { keepAliveUntil, systemClock } from '../src/clock.js';
import type { components, paths } from './openapi.js';

/** The shapes of the API, by the names of its OpenAPI document. */
export type Schemas = components['schemas'];

type Method = 'get' | 'put' | 'post' | 'patch' | 'delete';
type Operation<Path extends keyof paths, M extends Method> = paths[Path][M];

type JsonOf<Answer> = Answer extends { content: { 'application/json': infer Body } } ? Body : never;

/** The JSON of a successful answer. */
type AnswerOf<Of> = Of extends { responses: infer Answers } ? JsonOf<Answers[keyof Answers]> : never;

type PathParameters<Of> = Of extends { parameters: { path: infer Path } } ? { readonly path: Path } : unknown;
type QueryParameters<Of> = Of extends { parameters: { query?: infer Query } }
  ? { readonly query?: Query }
  : unknown;
type HeaderParameters<Of> = Of extends { parameters: { header?: infer Header } }
  ? { readonly header?: Header }
  : unknown;
type RequestBody<Of> = Of extends { requestBody: infer Request }
  ? { readonly body: JsonOf<Request> }
  : unknown;

/** Parameters of the path, the query and the header, and the body, of an operation. */
type Asked<Of> = PathParameters<Of> &
  QueryParameters<Of> &
  HeaderParameters<Of> &
  RequestBody<Of> & {
    readonly signal?: AbortSignal;
    /** Called before the call resolves. */
    readonly onAnswer?: (headers: AnswerHeaders) => void;
  };

/** Of a successful answer. */
export interface AnswerHeaders {
  /** For `If-Match` of a change; undefined where the answer has none. */
  readonly entityTag: string | undefined;
  /** The written limit does not fit, for these reasons. */
  readonly warnings: readonly string[];
}

/** An operation without required parameters needs no second argument. */
type Arguments<Of> = Record<never, never> extends Asked<Of> ? [asked?: Asked<Of>] : [asked: Asked<Of>];

/** The paths with a JSON answer to this method. */
type PathOf<M extends Method> = {
  [Path in keyof paths]: [AnswerOf<Operation<Path, M>>] extends [never] ? never : Path;
}[keyof paths];

/** The paths whose answers come in pages. */
type PagedPath = {
  [Path in PathOf<'get'>]: AnswerOf<Operation<Path, 'get'>> extends { nextCursor: string | null }
    ? Path
    : never;
}[PathOf<'get'>];

type Call<M extends Method> = <Path extends PathOf<M>>(
  path: Path,
  ...asked: Arguments<Operation<Path, M>>
) => Promise<AnswerOf<Operation<Path, M>>>;

type StreamEvent = Exclude<Schemas['StreamEvent'], { event: 'closed' }>;

/**
 * `opened` comes first, and again after each reconnect. The service replays no events: at `opened`, read the present
 * state.
 */
export type StreamItem = StreamEvent | { readonly event: 'opened' };

/** An API key, or an OAuth client: its tokens are renewed before they end. */
export type Credential =
  | { readonly apiKey: string }
  | { readonly clientId: string; readonly clientSecret: string };

export type HeadroomOptions = Credential & {
  /** Without a path, such as https://headroom.example. */
  readonly url: string;
  /** Highest number of attempts for a request; 5 by default. */
  readonly attempts?: number;
  /** Receives the text of a `Warning`: the written limit does not fit. */
  readonly onWarning?: (text: string) => void;
  /** Receives each failure after which the client tries again. */
  readonly onRetry?: (failure: HeadroomError) => void;
  /** Longest wait for one answer, in seconds; 60 by default. */
  readonly timeoutS?: number;
};

export interface StreamOptions {
  /** Only events of this location. */
  readonly locationId?: string;
  readonly signal?: AbortSignal;
}

/** Every method throws a `HeadroomError`, or the reason of its `signal`. */
export interface Headroom {
  readonly get: Call<'get'>;
  readonly put: Call<'put'>;
  readonly post: Call<'post'>;
  readonly patch: Call<'patch'>;
  readonly delete: Call<'delete'>;
  /** A call without types. Its path is complete, with its query. */
  request(method: string, path: string, asked?: Untyped): Promise<unknown>;
  /** A successful response as it is, such as CSV, after one attempt. */
  open(
    path: string,
    options?: { readonly accept?: string; readonly signal?: AbortSignal },
  ): Promise<Response>;
  /** All pages of a list or history, from its first or from `query.cursor` on. */
  pages<Path extends PagedPath>(
    path: Path,
    ...asked: Arguments<Operation<Path, 'get'>>
  ): AsyncGenerator<AnswerOf<Operation<Path, 'get'>>, void, undefined>;
  /** Events as they happen, without an end. It reconnects until the service refuses the credential or the location. */
  stream(options?: StreamOptions): AsyncGenerator<StreamItem, never, undefined>;
}

/** A refused or lost request. */
export class HeadroomError extends Error {
  override readonly name = 'HeadroomError';
  /** The HTTP status; 0 without an answer. */
  readonly status: number;
  /** A code of the service, `NO_ANSWER`, or `UNKNOWN_ANSWER` for an answer that another server sent. */
  readonly code: string;
  /** For the operator of the service; undefined if the service did not send it. */
  readonly requestId: string | undefined;

  constructor(status: number, code: string, message: string, requestId?: string, cause?: unknown) {
    super(message, { cause });
    this.status = status;
    this.code = code;
    this.requestId = requestId;
  }
}

export interface Untyped {
  readonly header?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
  readonly onAnswer?: (headers: AnswerHeaders) => void;
}

/** A request before its types are checked. */
interface Question extends Untyped {
  readonly path?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
}

interface Sent {
  readonly method?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
}

/** A followed redirect would send the key to another server. */
const REDIRECT = 'error' as const;

/** Without this, a browser shows its own password prompt after a refusal, or an answer of its cache. */
const IN_BROWSERS = { credentials: 'omit', cache: 'no-store' } as const;

const UNAUTHORIZED = 401;
const VISIBLE_ASCII = /^[!-~]*$/;
/** A token is not used in the last tenth of its lifetime. */
const USED_SHARE = 0.9;

const ATTEMPTS = 5;
const TIMEOUT_S = 60;

const FIRST_WAIT_S = 0.5;
const LONGEST_WAIT_S = 30;

/** The service, or a proxy before it, answers so without a lasting reason. */
const PASSING = [429, 502, 503, 504];

/** The service sends a comment every 15 s. After two missing comments the stream counts as lost. */
const SILENCE_AT_MOST_MS = 35_000;
/** Longest event, in characters; a longer one ends the stream. */
const LONGEST_EVENT = 16_000_000;

export function createHeadroom(options: HeadroomOptions): Headroom {
  const { attempts = ATTEMPTS, timeoutS = TIMEOUT_S, onWarning, onRetry } = options;
  const base = rootOf(options.url);
  const authorization = createAuthorization(base, options);

  function urlOf(template: string, { path = {}, query = {} }: Question): URL {
    const url = new URL(
      base + template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(path[name]))),
    );
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) url.searchParams.set(name, String(value));
    return url;
  }

  async function answerOf(method: string, template: string, asked: Question = {}): Promise<unknown> {
    const { body, signal, header = {} } = asked;
    const given = Object.entries(header).filter(([, value]) => value !== undefined);
    const request = {
      method,
      headers: {
        accept: 'application/json',
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(method === 'POST' && { 'idempotency-key': newKey() }),
        // In lower case, so that a given key replaces the new one.
        ...Object.fromEntries(given.map(([name, value]) => [name.toLowerCase(), String(value)])),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    };
    const { response, text } = await untilAnswered(urlOf(template, asked), request, signal);
    const answer = parsed(response, text);
    const warnings = warningsOf(response.headers.get('warning') ?? '');
    for (const warning of warnings) onWarning?.(warning);
    asked.onAnswer?.({ entityTag: response.headers.get('etag') ?? undefined, warnings });
    return answer;
  }

  /** @throws HeadroomError after the last attempt */
  async function untilAnswered(url: URL, request: Sent, signal: AbortSignal | undefined) {
    for (let attempt = 1; ; attempt++) {
      try {
        const late = AbortSignal.timeout(1000 * timeoutS);
        const ends = signal === undefined ? late : AbortSignal.any([signal, late]);
        const response = await send(url, { ...request, signal: ends });
        return { response, text: await response.text() };
      } catch (error) {
        signal?.throwIfAborted();
        const failure = failureOf(error);
        if (attempt >= attempts || !mayRepeat(failure)) throw failure;
        onRetry?.(failure);
        await rest(attempt, failure, signal);
      }
    }
  }

  /** One attempt. A token may have been revoked early, so a refused one is renewed once. */
  async function send(url: URL, request: Sent): Promise<Response> {
    for (let isRenewed = false; ; isRenewed = true) {
      const headers = { ...request.headers, ...(await authorization.headers()) };
      const response = await fetch(url, { ...IN_BROWSERS, ...request, redirect: REDIRECT, headers });
      if (response.ok) return response;
      const refusal = refusalOf(response, await response.text());
      if (response.status !== UNAUTHORIZED || isRenewed || !authorization.renew()) throw refusal;
    }
  }

  async function* pages(template: string, asked: Question = {}) {
    let cursor = asked.query?.cursor;
    do {
      const page = await answerOf('GET', template, { ...asked, query: { ...asked.query, cursor } });
      yield page;
      cursor = isObject(page) ? page.nextCursor : undefined;
    } while (typeof cursor === 'string');
  }

  async function* stream({ locationId, signal }: StreamOptions = {}): AsyncGenerator<StreamItem, never> {
    let wasOpen = false;
    for (let attempt = 1; ; attempt++) {
      try {
        for await (const item of openStream(urlOf('/v1/stream', { query: { locationId } }), signal)) {
          if (item.event === 'opened') wasOpen = true;
          else attempt = 0;
          yield item;
        }
      } catch (error) {
        signal?.throwIfAborted();
        const failure = failureOf(error);
        const isExpired = failure.status === UNAUTHORIZED && wasOpen && authorization.renew();
        const isPassing = failure.status === 0 || PASSING.includes(failure.status) || isExpired;
        if (!isPassing || (!wasOpen && attempt >= attempts)) throw failure;
        onRetry?.(failure);
        await rest(Math.max(attempt, 1), failure, signal);
      }
    }
  }

  /** The events of one connection. It throws after the connection's end. */
  async function* openStream(url: URL, signal: AbortSignal | undefined): AsyncGenerator<StreamItem, never> {
    const end = new AbortController();
    const ends = signal === undefined ? end.signal : AbortSignal.any([signal, end.signal]);
    let cancel = keepAliveUntil(1000 * timeoutS, () => end.abort());
    const live = () => {
      cancel();
      cancel = keepAliveUntil(SILENCE_AT_MOST_MS, () => end.abort());
    };
    try {
      const response = await send(url, { headers: { accept: 'text/event-stream' }, signal: ends });
      yield { event: 'opened' };
      const reader = response.body
        ?.pipeThrough(new TextDecoderStream())
        .pipeThrough(new EventSourceParserStream({ onComment: live, maxBufferSize: LONGEST_EVENT }))
        .getReader();
      for (;;) {
        live();
        const read = await reader?.read();
        if (read === undefined || read.done) throw new HeadroomError(0, NO_ANSWER, 'The stream ended.');
        yield itemOf(read.value);
      }
    } finally {
      cancel();
      end.abort();
    }
  }

  // The document gives each path its types; at run time all calls are alike.
  const call =
    (method: string) =>
    (template: string, asked: Question = {}) =>
      answerOf(method, template, asked);
  return {
    get: call('GET') as Headroom['get'],
    put: call('PUT') as Headroom['put'],
    post: call('POST') as Headroom['post'],
    patch: call('PATCH') as Headroom['patch'],
    delete: call('DELETE') as Headroom['delete'],
    request: answerOf,
    async open(path, { accept = '*/*', signal } = {}) {
      try {
        return await send(urlOf(path, {}), { headers: { accept }, ...(signal && { signal }) });
      } catch (error) {
        signal?.throwIfAborted();
        throw failureOf(error);
      }
    },
    pages: pages as Headroom['pages'],
    stream,
  };
}

interface Authorization {
  headers(): Promise<Readonly<Record<string, string>>>;
  /** Drops the token. False if there is none to drop: the service refused the credential itself. */
  renew(): boolean;
}

interface Token {
  readonly text: string;
  readonly usedUntilMs: number;
}

function createAuthorization(base: string, credential: Credential): Authorization {
  if ('apiKey' in credential) {
    const { apiKey } = credential;
    return {
      async headers() {
        // `fetch` cannot send such a header, and its error looks like a lost connection.
        if (!VISIBLE_ASCII.test(apiKey))
          throw new HeadroomError(
            UNAUTHORIZED,
            'UNAUTHORIZED',
            'The API key has characters that no key has.',
          );
        return { 'x-api-key': apiKey };
      },
      renew: () => false,
    };
  }
  const { clientId, clientSecret } = credential;
  let token: Promise<Token> | undefined;

  function ask(): Promise<Token> {
    const asked = requestToken(base, clientId, clientSecret);
    token = asked;
    asked.catch(() => {
      if (token === asked) token = undefined;
    });
    return asked;
  }

  return {
    async headers() {
      const asked = token ?? ask();
      const held = await asked;
      const isUsed = systemClock.monotonicMs() >= held.usedUntilMs;
      // Of several requests that find it used, the first one asks.
      if (isUsed && token === asked) token = undefined;
      const { text } = isUsed ? await (token ?? ask()) : held;
      return { authorization: `Bearer ${text}` };
    },
    renew() {
      const isHeld = token !== undefined;
      token = undefined;
      return isHeld;
    },
  };
}

/** Shared by requests, so no signal of one of them ends it. */
async function requestToken(base: string, clientId: string, clientSecret: string): Promise<Token> {
  const askedAtMs = systemClock.monotonicMs();
  const [id, secret] = [clientId, clientSecret].map(encodeURIComponent);
  const response = await fetch(`${base}/v1/oauth/token`, {
    ...IN_BROWSERS,
    method: 'POST',
    redirect: REDIRECT,
    headers: { authorization: `Basic ${btoa(`${id}:${secret}`)}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
    signal: AbortSignal.timeout(1000 * TIMEOUT_S),
  });
  const text = await response.text();
  if (!response.ok) throw refusalOf(response, text);
  const answer = parsed(response, text);
  if (!isObject(answer) || typeof answer.access_token !== 'string') throw unknownAnswer(response.status);
  const usedForMs = 1000 * Number(answer.expires_in) * USED_SHARE;
  return { text: answer.access_token, usedUntilMs: askedAtMs + usedForMs };
}

/** @throws TypeError */
function rootOf(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname.replace(/\/$/, '')}`;
}

/** The quoted texts of `199 headroom "text"` (RFC 7234, section 5.5). */
function warningsOf(header: string): readonly string[] {
  return [...header.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, text = '']) => text.replace(/\\(.)/g, '$1'));
}

const NO_ANSWER = 'NO_ANSWER';

function failureOf(error: unknown): HeadroomError {
  if (error instanceof HeadroomError) return error;
  const reason = error instanceof Error ? reasonOf(error) : String(error);
  return new HeadroomError(0, NO_ANSWER, `The service did not answer: ${reason}`, undefined, error);
}

/** Node names the reason of a lost connection only in the cause, and OpenSSL in a field of it. */
function reasonOf({ message, cause }: Error): string {
  if (!(cause instanceof Error) || cause.message === '') return message;
  return 'reason' in cause ? `TLS: ${cause.reason}` : cause.message;
}

/** Seconds that the service asks to wait, by its refusal. */
const waitsS = new WeakMap<HeadroomError, number>();

function refusalOf(response: Response, text: string): HeadroomError {
  const { status } = response;
  const refusal = envelopeOf(status, text) ?? unknownAnswer(status);
  const waitS = Number(response.headers.get('retry-after') ?? Number.NaN);
  // Zero would let a stream connect again without a rest.
  if (waitS > 0) waitsS.set(refusal, waitS);
  return refusal;
}

function unknownAnswer(status: number): HeadroomError {
  return new HeadroomError(
    status,
    'UNKNOWN_ANSWER',
    `The answer ${status} is none of Headroom: check the address, and the proxies before it.`,
  );
}

function envelopeOf(status: number, text: string): HeadroomError | undefined {
  try {
    const body: unknown = JSON.parse(text);
    return isObject(body) ? errorOf(status, body.error) : undefined;
  } catch {
    return undefined;
  }
}

/** The `error` of an envelope, and the data of the event `closed`. */
function errorOf(status: number, error: unknown): HeadroomError | undefined {
  if (!isObject(error) || typeof error.code !== 'string') return undefined;
  const requestId = typeof error.requestId === 'string' ? error.requestId : undefined;
  return new HeadroomError(status, error.code, String(error.message), requestId);
}

function parsed(response: Response, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw unknownAnswer(response.status);
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/**
 * After these failures the outcome may be unknown. A second PUT, PATCH or DELETE has the effect of one, and the service
 * executes a POST only once for each key. The first attempt may still be executed.
 */
function mayRepeat({ status, code }: HeadroomError): boolean {
  return status === 0 || PASSING.includes(status) || code === 'REQUEST_IN_PROGRESS';
}

/** A String of RFC 9651. Browsers have `randomUUID` over HTTPS alone. */
function newKey(): string {
  return `"${[...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')}"`;
}

/** Waits as long as the service asks, else twice as long after each attempt. Clients spread over a quarter of it. */
async function rest(attempt: number, failure: HeadroomError, signal: AbortSignal | undefined): Promise<void> {
  const backoffS = FIRST_WAIT_S * 2 ** Math.min(attempt - 1, 10);
  const waitS = Math.min(waitsS.get(failure) ?? backoffS, LONGEST_WAIT_S);
  const [random = 0] = crypto.getRandomValues(new Uint8Array(1));
  await new Promise<void>((resolve) => {
    const end = () => {
      cancel();
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const cancel = keepAliveUntil(1000 * waitS * (1 + random / 1024), end);
    signal?.addEventListener('abort', end);
  });
  signal?.throwIfAborted();
}

/** The event `closed` has no status of its own. */
const STATUS_OF_CLOSED: Readonly<Record<string, number>> = { SERVICE_UNAVAILABLE: 503, UNAUTHORIZED };
const FORBIDDEN = 403;

/** @throws HeadroomError if the service closes the stream */
function itemOf({ event, id, data }: EventSourceMessage): StreamItem {
  const content: unknown = JSON.parse(data);
  if (event !== 'closed') return { event, id: Number(id), data: content } as StreamItem;
  const code = isObject(content) ? String(content.code) : '';
  throw errorOf(STATUS_OF_CLOSED[code] ?? FORBIDDEN, content) ?? unknownAnswer(FORBIDDEN);
}
