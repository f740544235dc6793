// REST requests to a world's service over real HTTP, as an operator's back end sends them.
import { Agent, type IncomingMessage, request as sendPlain } from 'node:http';
import { request as sendEncrypted, Agent as TlsAgent } from 'node:https';
import { text } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** A REST call; `path` begins after `/v1`. */
export interface Question {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
}

export interface RestAnswer {
  /** 0 while no service runs. */
  readonly status: number;
  readonly body: unknown;
}

/**
 * A connection that was idle for this true time, in ms, is not used again. The service ends connections after five
 * idle seconds. Hours of virtual time may have passed meanwhile without a turn of the thread's event loop.
 */
const IDLE_AT_MOST_MS = 1_000;

const agent = new Agent({ keepAlive: true, timeout: IDLE_AT_MOST_MS });
const tlsAgent = new TlsAgent({ keepAlive: true, timeout: IDLE_AT_MOST_MS });

/**
 * `ca` signed the certificate of a service with HTTPS; `signal` ends the client's wait.
 * @throws the errors of the connection
 */
export async function callService(
  httpUrl: string,
  apiKey: string,
  { method, path, body }: Question,
  { ca, signal }: { readonly ca?: string | undefined; readonly signal?: AbortSignal } = {},
): Promise<RestAnswer> {
  const payload = body === undefined ? undefined : JSON.stringify(body);
  const headers = {
    'x-api-key': apiKey,
    ...(payload === undefined
      ? {}
      : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(payload) }),
  };
  // A connection that was idle for too long ends in a turn of its own, which may be still ahead.
  await nextTurn();
  await nextTurn();
  return new Promise((resolve, reject) => {
    const url = `${httpUrl}/v1${path}`;
    const take = (response: IncomingMessage) => {
      text(response).then((answer) => {
        resolve({
          status: response.statusCode ?? 0,
          body: answer === '' ? undefined : JSON.parse(answer),
        });
      }, reject);
    };
    const request =
      ca === undefined
        ? sendPlain(url, { method, headers, agent, ...(signal && { signal }) }, take)
        : sendEncrypted(url, { method, headers, agent: tlsAgent, ca }, take);
    request.on('error', reject);
    request.end(payload);
  });
}
