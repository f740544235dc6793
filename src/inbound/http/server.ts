// The REST side: listens with time limits, answers even what is no proper HTTP, and stops without dropping a request.
import { randomUUID } from 'node:crypto';
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { Duplex } from 'node:stream';
import type { ErrorCode } from '../../../machines/errors.js';
import { errorEnvelope } from '../../wire/error-envelope.js';
import type { Answer } from './exchange.js';
import { createExpressApp, type HttpParts, type HttpSettings } from './express-app.js';
import { createOpenStreams } from './open-streams.js';
import { readableTarget } from './request-target.js';

export interface ServerSettings extends HttpSettings {
  readonly httpHost: string;
  readonly httpPort: number;
  readonly httpHeaderTimeoutS: number;
  readonly httpRequestTimeoutS: number;
}

export interface HttpServer {
  /** Listens; rejects where the address is taken. */
  start(): Promise<{ readonly url: string }>;
  /** Takes nothing new and resolves when what was accepted is answered, within 10 s. */
  stop(): Promise<void>;
}

const HEADERS_AT_MOST = 100;
const TIMEOUTS_CHECKED_EVERY_MS = 1000;
const STOP_WITHIN_MS = 9000;

export function createHttpServer({
  config,
  ...parts
}: HttpParts & { readonly config: ServerSettings }): HttpServer {
  const unanswered = new Set<Answer>();
  let isStopping = false;
  const openStreams = createOpenStreams();
  const app = createExpressApp(config, {
    ...parts,
    unanswered,
    openStreams,
    isStopping: () => isStopping,
  });

  function accept(request: IncomingMessage, response: ServerResponse): void {
    request.url = readableTarget(request.url ?? '/');
    app(request, response);
  }

  const server = createServer(
    {
      headersTimeout: Math.min(config.httpHeaderTimeoutS, config.httpRequestTimeoutS) * 1000,
      requestTimeout: config.httpRequestTimeoutS * 1000,
      connectionsCheckingInterval: TIMEOUTS_CHECKED_EVERY_MS,
    },
    accept,
  );
  server.maxHeadersCount = HEADERS_AT_MOST;
  server.on('clientError', answerUnreadable);
  // An expectation nobody knows is ignored (RFC 9110 allows it): Node's own answer would have no envelope.
  server.on('checkExpectation', accept);

  return {
    start: () => listen(server, config),
    stop() {
      isStopping = true;
      // Node closes idle connections itself; the others close with their answer.
      for (const response of unanswered) response.shouldKeepAlive = false;
      openStreams.endAll();
      const cancel = parts.clock.after(STOP_WITHIN_MS, () => server.closeAllConnections());
      return new Promise((resolve) => {
        server.close(() => {
          cancel();
          resolve();
        });
      });
    },
  };
}

function listen(server: Server, { httpHost, httpPort }: ServerSettings): Promise<{ url: string }> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(httpPort, httpHost, () => {
      server.off('error', reject);
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : httpPort;
      resolve({ url: `http://${httpHost.includes(':') ? `[${httpHost}]` : httpHost}:${port}` });
    });
  });
}

const UNREADABLE: Readonly<Record<string, readonly [number, ErrorCode, string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'PAYLOAD_TOO_LARGE', 'The headers are larger than this service accepts.'],
  ERR_HTTP_REQUEST_TIMEOUT: [
    408,
    'INVALID_REQUEST_BODY',
    'The request did not arrive in time: send it again.',
  ],
};

/** What never became a request gets the envelope too, and its connection is closed. */
function answerUnreadable(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, code, message] = UNREADABLE[error.code ?? ''] ?? [
    400,
    'INVALID_REQUEST_BODY',
    'This is not an HTTP request.',
  ];
  const requestId = randomUUID();
  const body = JSON.stringify(errorEnvelope(code, message, requestId));
  socket.end(
    [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      'content-type: application/json; charset=utf-8',
      `content-length: ${Buffer.byteLength(body)}`,
      `x-request-id: ${requestId}`,
      'connection: close',
      '',
      body,
    ].join('\r\n'),
  );
}
