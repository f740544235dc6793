// Requests to a world's service, over real HTTP: what an operator's back end would send.
import { Agent, type IncomingMessage, request as sendPlain } from 'node:http';
import { request as sendEncrypted, Agent as TlsAgent } from 'node:https';
import { text } from 'node:stream/consumers';

export interface RestAnswer {
  /** 0 while no service runs. */
  readonly status: number;
  readonly body: unknown;
}

/**
 * A connection for each request: one that is kept would be found closed, because hours of virtual time pass without a turn of the
 * thread's event loop, in which the service ends what was idle for seconds of true time.
 */
const agent = new Agent({ keepAlive: false });
const tlsAgent = new TlsAgent({ keepAlive: false });

/** `ca` has signed the certificate of a service that speaks HTTPS. @throws what the connection throws. */
export function callService(
  httpUrl: string,
  apiKey: string,
  { method, path, body }: { readonly method: string; readonly path: string; readonly body?: unknown },
  ca?: string,
): Promise<RestAnswer> {
  const payload = body === undefined ? undefined : JSON.stringify(body);
  const headers = {
    'x-api-key': apiKey,
    ...(payload === undefined
      ? {}
      : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(payload) }),
  };
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
        ? sendPlain(url, { method, headers, agent }, take)
        : sendEncrypted(url, { method, headers, agent: tlsAgent, ca }, take);
    request.on('error', reject);
    request.end(payload);
  });
}
