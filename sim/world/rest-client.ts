// Requests to a world's service, over real HTTP: what an operator's back end would send.
import { Agent, request as send } from 'node:http';
import { text } from 'node:stream/consumers';

export interface RestAnswer {
  /** 0 while no service runs. */
  readonly status: number;
  readonly body: unknown;
}

/** A world asks its service after every call and at every boundary: connections are kept, as a back end keeps them. */
const agent = new Agent({ keepAlive: true });

/** @throws what the connection throws. */
export function callService(
  httpUrl: string,
  apiKey: string,
  { method, path, body }: { readonly method: string; readonly path: string; readonly body?: unknown },
): Promise<RestAnswer> {
  const payload = body === undefined ? undefined : JSON.stringify(body);
  const headers = {
    'x-api-key': apiKey,
    ...(payload === undefined
      ? {}
      : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(payload) }),
  };
  return new Promise((resolve, reject) => {
    const request = send(`${httpUrl}/v1${path}`, { method, headers, agent }, (response) => {
      text(response).then((answer) => {
        resolve({
          status: response.statusCode ?? 0,
          body: answer === '' ? undefined : JSON.parse(answer),
        });
      }, reject);
    });
    request.on('error', reject);
    request.end(payload);
  });
}
