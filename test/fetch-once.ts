// A request over a connection of its own, with the interface of `fetch`. A server closes a kept connection after 5 s,
// and a request that a busy machine sends at that moment fails. Node's `fetch` with `connection: close` may throw out of
// a socket's event: https://github.com/nodejs/undici/issues/5360
import { type IncomingMessage, request } from 'node:http';
import { pipeline, Readable, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';

export interface RequestOnce {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
}

const WITHOUT_BODY = new Set([204, 205, 304]);

/** Follows no redirect. The answer's body is decompressed, and may be read as it comes. */
export function fetchOnce(
  url: string,
  { method = 'GET', headers = {}, body, signal }: RequestOnce = {},
): Promise<Response> {
  return new Promise((resolve, reject) => {
    const sent = {
      accept: '*/*',
      'accept-encoding': 'gzip, deflate',
      ...(body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
      ...headers,
    };
    const asked = request(url, {
      agent: false,
      method,
      headers: sent,
      ...(signal === undefined ? {} : { signal }),
    });
    asked.on('response', (answer) => resolve(responseOf(answer, method)));
    asked.on('error', reject).end(body);
  });
}

function responseOf(answer: IncomingMessage, method: string): Response {
  const { statusCode = 200 } = answer;
  const headers = new Headers();
  for (const [name, value = []] of Object.entries(answer.headers))
    for (const each of [value].flat()) headers.append(name, each);
  const isEmpty = method === 'HEAD' || WITHOUT_BODY.has(statusCode);
  if (isEmpty) answer.resume();
  // Node's types of web streams and those of the global `Response` differ.
  const body = isEmpty ? null : (Readable.toWeb(plain(answer)) as unknown as ReadableStream);
  return new Response(body, { status: statusCode, headers });
}

function plain(answer: IncomingMessage): Readable {
  const decoder = decoderOf(answer.headers['content-encoding']);
  return decoder === undefined ? answer : pipeline(answer, decoder, () => {});
}

function decoderOf(encoding: string | undefined): Transform | undefined {
  if (encoding === 'gzip') return createGunzip();
  if (encoding === 'br') return createBrotliDecompress();
  return encoding === 'deflate' ? createInflate() : undefined;
}
