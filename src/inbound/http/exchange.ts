// One request and its answer: checks its head, gives it an id, a log line and a metric, and writes JSON answers.
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { DomainError } from '../../../machines/values/errors.js';
import type { TenantUuid } from '../../../machines/values/ids.js';
import type { Metrics } from '../../metrics.js';
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import { withoutSecrets } from '../../secrets.js';
import { createTokenBucket } from '../../token-bucket.js';
import type { OpenStreams } from './open-streams.js';
import { type Headers, NO_HEADERS } from './refusal.js';
import { API_SECURITY_HEADERS } from './security-headers.js';

// Checks that the head of a request has one reading only, and makes its target readable.

/**
 * Refuses a head that a proxy and the service could read in two ways, as two different requests. That is a head
 * without one Host (RFC 9112 section 3.2), or with a Transfer-Encoding other than one `chunked` (section 6.1).
 * Node's parser refuses a Content-Length beside it.
 * @throws DomainError INVALID_REQUEST_BODY, and ends the connection with the answer
 */
export function requireOneReading({ request: { rawHeaders, httpVersion }, response }: Exchange): void {
  let problem: string | undefined;
  const hosts = valuesOf(rawHeaders, 'host');
  const encodings = valuesOf(rawHeaders, 'transfer-encoding');
  const [encoding = 'chunked'] = encodings;
  if (hosts.length === 0 && httpVersion !== '1.0') problem = 'Host: required in HTTP/1.1';
  else if (hosts.length > 1) problem = 'Host: sent more than once; send it once';
  else if (encodings.length > 1) problem = 'Transfer-Encoding: sent more than once; send it once';
  else if (encoding.toLowerCase() !== 'chunked') problem = 'Transfer-Encoding: must be chunked';
  if (problem === undefined) return;
  response.shouldKeepAlive = false;
  throw new DomainError('INVALID_REQUEST_BODY', problem);
}

/** Values of all headers of this name, which is in lower case. */
function valuesOf(rawHeaders: readonly string[], name: string): readonly string[] {
  const values: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (rawHeaders[i]?.length === name.length && rawHeaders[i]?.toLowerCase() === name)
      values.push(rawHeaders[i + 1] ?? '');
  return values;
}

/**
 * `target` as a path and query that can be parsed and decoded. In a path with broken percent-encoding every `%` stands
 * for itself. A target that is no URL becomes a path. Neither names anything that exists.
 */
export function readableTarget(target: string): string {
  const url = target.startsWith('/') ? target : pathOf(target);
  if (!url.includes('%')) return url;
  const query = url.indexOf('?');
  const path = query === -1 ? url : url.slice(0, query);
  return isDecodable(path) ? url : path.replaceAll('%', '%25') + url.slice(path.length);
}

/** The result is used, because a bundler may drop a call whose only effect is its exception. */
function isDecodable(path: string): boolean {
  try {
    return decodeURIComponent(path).length > 0;
  } catch {
    return false;
  }
}

/** A proxy may send a whole URL (RFC 9112 section 3.2.2). */
function pathOf(target: string): string {
  if (!URL.canParse(target)) return `/${target}`;
  const { pathname, search } = new URL(target);
  return pathname + search;
}

/** Parameters of a path by name, decoded. */
export type Parameters = Readonly<Record<string, string>>;

const NO_PARAMETERS: Parameters = {};

/** A request with its answer, and their state while they last. */
export class Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId = randomUUID();
  /** Target without query and fragment. */
  readonly path: string;
  parameters = NO_PARAMETERS;
  /** The path's pattern, for metrics; `unmatched` for a path without a route. */
  route = 'unmatched';
  /** `RateLimit` and its policy, once the tenant is known. */
  rateLimit = NO_HEADERS;
  /** Tenant of a valid credential. */
  tenantUuid: TenantUuid | undefined;
  readonly #trustProxy: number;
  #address: string | undefined;

  /** @param trustProxy number of reverse proxies in front */
  constructor(request: IncomingMessage, response: ServerResponse, trustProxy: number) {
    this.request = request;
    this.response = response;
    this.#trustProxy = trustProxy;
    const target = this.target;
    const end = target.search(/[?#]/);
    this.path = end === -1 ? target : target.slice(0, end);
  }

  get target(): string {
    return this.request.url ?? '';
  }

  /** The text after `?` in the target. */
  get query(): string {
    const mark = this.target.indexOf('?');
    return mark === -1 ? '' : this.target.slice(mark + 1);
  }

  /** The address of the client. Each trusted proxy appends the address of its own client to `X-Forwarded-For`. */
  get address(): string {
    this.#address ??= this.#addressThroughProxies();
    return this.#address;
  }

  set address(address: string) {
    this.#address = address;
  }

  #addressThroughProxies(): string {
    const { socket, headers } = this.request;
    const forwardedFor = this.#trustProxy === 0 ? '' : String(headers['x-forwarded-for'] ?? '');
    const clients = forwardedFor.split(',').map((text) => text.trim());
    const nearestFirst = [socket.remoteAddress ?? '', ...clients.filter((text) => text !== '').reverse()];
    return nearestFirst[Math.min(this.#trustProxy, nearestFirst.length - 1)] ?? '';
  }
}

/** The answers that are not sent yet, by Node's own response object. */
export type Unanswered = Map<ServerResponse, Exchange>;

/** State that request listeners share with their server. */
export interface Exchanges {
  readonly requestLog: RequestLog;
  readonly unanswered: Unanswered;
  readonly openStreams: OpenStreams;
  readonly isStopping: () => boolean;
}

// At most 860,000 lines a day, some 200 MB.
const LINES_AT_ONCE = 1_000;
const LINES_PER_S = 10;
const PATH_LOGGED = 200;
// Long enough that a secret which is cut off here is still recognized as one.
const PATH_READ = 2 * PATH_LOGGED;
/** nginx logs this status if a client disconnects before its answer. */
const CLIENT_GONE = 499;

const JSON_HEADERS = headersOfType('application/json');
const CSV_HEADERS = headersOfType('text/csv');

function headersOfType(type: string): readonly string[] {
  return Object.entries({
    ...API_SECURITY_HEADERS,
    'cache-control': 'no-store',
    'content-type': `${type}; charset=utf-8`,
  }).flat();
}

interface ReceptionParts extends Pick<Exchanges, 'requestLog' | 'unanswered'> {
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly trustProxy: number;
}

/** A function that begins the exchange of a request, and logs and counts its answer. */
export function createReception({
  clock,
  requestLog,
  metrics,
  unanswered,
  trustProxy,
}: ReceptionParts): (request: IncomingMessage, response: ServerResponse) => Exchange {
  return (request, response) => {
    const startedMs = clock.monotonicMs();
    const exchange = new Exchange(request, response, trustProxy);
    const { requestId } = exchange;
    const { method } = request;
    const path = pathToLog(exchange.target);
    unanswered.set(response, exchange);
    let isSent = false;
    // `finish` is also emitted for an answer that is dropped with its socket.
    response.on('finish', () => {
      isSent = !request.socket.destroyed;
    });
    response.on('close', () => {
      unanswered.delete(response);
      const ms = Math.round((clock.monotonicMs() - startedMs) * 1000) / 1000;
      const status = isSent ? response.statusCode : CLIENT_GONE;
      metrics.httpRequestSeconds.observe({ route: exchange.route, status }, ms / 1000);
      requestLog.add(exchange.tenantUuid, { requestId, method, path, status, ms }, 'request');
    });
    return exchange;
  };
}

export const UNREADABLE_BODY = 'body: cannot be read; send valid JSON';
export const largeBody = (limitBytes: number) => `body: must have at most ${limitBytes} bytes, unpacked`;

/** The body as it came; undefined without one. @throws DomainError if it is too large or breaks off */
export function wholeBody(
  { request }: Pick<Exchange, 'request'>,
  limitBytes: number,
): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  return new Promise((resolve, reject) => {
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= limitBytes) chunks.push(chunk);
    });
    request.on('end', () => {
      // The rest was read and dropped, so that the client receives the answer.
      if (bytes > limitBytes) reject(new DomainError('PAYLOAD_TOO_LARGE', largeBody(limitBytes)));
      else resolve(chunks.length > 1 ? Buffer.concat(chunks) : chunks[0]);
    });
    request.on('error', () => reject(new DomainError('INVALID_REQUEST_BODY', 'The request broke off.')));
  });
}

/** The path without the query. It is redacted: a client may have put a key in place of an id. */
function pathToLog(url: string): string {
  const query = url.indexOf('?');
  return withoutSecrets(url.slice(0, query === -1 ? PATH_READ : Math.min(query, PATH_READ))).slice(
    0,
    PATH_LOGGED,
  );
}

/**
 * Logs every request of a tenant, because a tenant's rate is limited. All others (probes, pages, documents, refused
 * sign-ins, unreadable requests) share a limit. Their next line counts the omitted ones.
 */
export class RequestLog {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #lines = createTokenBucket({ ratePerS: LINES_PER_S, burst: LINES_AT_ONCE });
  #leftOut = 0;

  constructor(clock: Clock, log: Log) {
    this.#clock = clock;
    this.#log = log;
  }

  /** @param tenantUuid tenant of a valid credential; undefined without one */
  add(tenantUuid: TenantUuid | undefined, fields: object, message: string): void {
    if (tenantUuid !== undefined) {
      this.#log.info({ tenantUuid, ...fields }, message);
    } else if (this.#lines.take(this.#clock.monotonicMs())) {
      const othersNotLogged = this.#leftOut;
      this.#leftOut = 0;
      this.#log.info({ ...fields, ...(othersNotLogged > 0 && { othersNotLogged }) }, message);
    } else {
      this.#leftOut++;
    }
  }
}

/** Writes `text`, which is JSON, in one go. `headers` are added to the common ones. */
export function sendJson(exchange: Exchange, status: number, text: string, headers = NO_HEADERS): void {
  send(exchange, status, text, [...JSON_HEADERS], headers);
}

export function sendCsv(exchange: Exchange, text: string, headers: Headers): void {
  send(exchange, 200, text, [...CSV_HEADERS], headers);
}

function send(
  { response, requestId, rateLimit }: Exchange,
  status: number,
  text: string,
  fields: string[],
  headers: Headers,
): void {
  fields.push('x-request-id', requestId, 'content-length', String(Buffer.byteLength(text)));
  for (const name in rateLimit) fields.push(name, rateLimit[name] ?? '');
  for (const name in headers) fields.push(name, headers[name] ?? '');
  response.writeHead(status, fields);
  response.end(text);
}

// Counts the due answers of a request listener, so that the listener can end after the last one.
export class DueAnswers {
  readonly #answered: Promise<void>;
  readonly #tell: () => void;
  #isEnding = false;
  #due = 0;

  constructor() {
    let tell = () => {};
    this.#answered = new Promise((resolve) => {
      tell = resolve;
    });
    this.#tell = tell;
  }

  take(response: ServerResponse): void {
    this.#due++;
    response.on('close', () => {
      this.#due--;
      if (this.#isEnding) this.#endIfAnswered();
    });
  }

  /** Resolves after the last due answer. */
  end(): Promise<void> {
    this.#isEnding = true;
    this.#endIfAnswered();
    return this.#answered;
  }

  #endIfAnswered(): void {
    if (this.#due === 0) this.#tell();
  }
}

// JSON of all answers and events. No number has more than nine decimals, so sums of kW show no binary noise.
const DECIMALS = 9;
const HAS_MORE = new RegExp(`\\.\\d{${DECIMALS + 1}}|\\de-`);

/** Few answers have a number with more decimals. So the text is searched first, and built again only then. */
export function toJson(value: object): string {
  const text = JSON.stringify(value);
  return HAS_MORE.test(text) ? JSON.stringify(value, (_name, held: unknown) => rounded(held)) : text;
}

function rounded(held: unknown): unknown {
  return typeof held === 'number' && !Number.isInteger(held) ? Number(held.toFixed(DECIMALS)) : held;
}
