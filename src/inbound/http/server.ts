// The HTTP server: applies time limits, answers unreadable requests too, and stops without dropping a request.

import { randomUUID } from 'node:crypto';
import {
  createServer,
  type IncomingMessage,
  maxHeaderSize,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { DomainError, type ErrorCode } from '../../../machines/values/errors.js';
import { toErrorDescription } from '../../features/tokens/contract.js';
import type { Metrics } from '../../metrics.js';
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import type { TlsFiles } from '../../tls-files.js';
import { errorEnvelope } from '../../wire/error-envelope.js';
import { type Connection, type ConnectionSettings, Connections, type Turn } from './connections.js';
import { sendRefusal } from './error-handler.js';
import {
  DueAnswers,
  type Exchanges,
  RequestLog,
  readableTarget,
  toJson,
  type Unanswered,
} from './exchange.js';
import { createOpenStreams } from './open-streams.js';

// The HTTPS server: uses the newest certificate, and joins the two sockets that Node makes of one connection.

/** A handshake may take as long as the headers may (`headersTimeout`). */
function createHttpsServer(
  options: ServerOptions & { readonly headersTimeout: number },
  accept: RequestListener,
  { tlsFiles, connections }: { readonly tlsFiles: TlsFiles; readonly connections: Connections },
): Server {
  const handshakeTimeout = options.headersTimeout;
  const server = createTlsServer({ ...options, ...tlsFiles.serverContext(), handshakeTimeout }, accept);
  tlsFiles.onChange(() => server.setSecureContext(tlsFiles.serverContext()));
  /** Node has no way from an encrypted socket to its TCP socket, but both have the same peer. */
  const handshakes = new Map<string, Socket>();
  server.on('connection', (socket: Socket) => {
    const peer = peerOf(socket);
    handshakes.set(peer, socket);
    socket.once('close', () => {
      if (handshakes.get(peer) === socket) handshakes.delete(peer);
    });
  });
  server.on('secureConnection', (encrypted) => {
    const peer = peerOf(encrypted);
    const socket = handshakes.get(peer);
    handshakes.delete(peer);
    if (socket !== undefined) connections.encrypt(socket, encrypted);
  });
  return server;
}

function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

// Answers bytes that are no HTTP request, or only part of one, with the envelope, and closes the connection.
interface Unreadable {
  readonly status: number;
  /** As the metric names it. */
  readonly reason: 'malformed' | 'headers' | 'chunks' | 'late';
  readonly code: ErrorCode;
  readonly message: string;
}

const MALFORMED: Unreadable = {
  status: 400,
  reason: 'malformed',
  code: 'INVALID_REQUEST_BODY',
  message: 'This is not an HTTP request.',
};
const UNREADABLE: Readonly<Record<string, Unreadable>> = {
  HPE_HEADER_OVERFLOW: {
    status: 431,
    reason: 'headers',
    code: 'PAYLOAD_TOO_LARGE',
    message: `headers: must have at most ${maxHeaderSize} bytes, with the path`,
  },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: {
    status: 413,
    reason: 'chunks',
    code: 'PAYLOAD_TOO_LARGE',
    message: 'The chunk extensions are larger than this service accepts.',
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: 408,
    reason: 'late',
    code: 'INVALID_REQUEST_BODY',
    message: 'The request did not arrive in time: send it again.',
  },
};

/** A listener for `clientError`. */
function createUnreadableHandler(options: {
  readonly connections: Connections;
  readonly unanswered: Unanswered;
  readonly requestLog: RequestLog;
  readonly metrics: Metrics;
}): (error: NodeJS.ErrnoException, socket: Duplex) => void {
  const { connections, unanswered, requestLog, metrics } = options;

  function answer(connection: Connection, error: NodeJS.ErrnoException, brokenOff: Turn | undefined): void {
    const unreadable = UNREADABLE[error.code ?? ''] ?? MALFORMED;
    const { status, reason, code, message } = unreadable;
    metrics.httpRefusals.inc({ reason });
    const exchange = brokenOff && unanswered.get(brokenOff.response);
    if (exchange !== undefined) {
      exchange.response.shouldKeepAlive = false;
      sendRefusal(exchange, new DomainError(code, message), status);
      return;
    }
    const requestId = randomUUID();
    connections.end(connection, textOf(unreadable, requestId));
    const { address } = connection;
    requestLog.add(undefined, { requestId, address, status, error: error.code }, 'unreadable request');
  }

  return (error, socket) => {
    const connection = connections.of(socket);
    if (connection === undefined || error.code === 'ECONNRESET') socket.destroy();
    else connection.breakOff((brokenOff) => answer(connection, error, brokenOff));
  };
}

/** A complete answer. The request may have been for the token endpoint, so it also has that endpoint's error fields. */
function textOf({ status, code, message }: Unreadable, requestId: string): string {
  const envelope = errorEnvelope(code, message, requestId);
  const body = toJson({ ...envelope, error_description: toErrorDescription(message) });
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'cache-control: no-store',
    `x-request-id: ${requestId}`,
    'connection: close',
    '',
    body,
  ].join('\r\n');
}

export interface ServerSettings extends ConnectionSettings {
  readonly httpHost: string;
  readonly httpPort: number;
  readonly httpHeaderTimeoutS: number;
  readonly httpRequestTimeoutS: number;
}

const HEADERS_AT_MOST = 100;
const TIMEOUTS_CHECKED_EVERY_MS = 1000;
/** A client that reads nothing of its answer for this long counts as gone. A stream sends something every 15 s. */
const SILENT_AT_MOST_MS = 30_000;

interface ServerParts {
  readonly config: ServerSettings;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Limit on open files of the process; by default the limit of the host. */
  readonly openFiles?: number;
  /** Milliseconds that a client may neither send nor read while an answer is due; 30 s by default. */
  readonly silentAtMostMs?: number;
  /** With them the server speaks HTTPS. */
  readonly tlsFiles?: TlsFiles | undefined;
}

export class HttpServer {
  readonly #config: ServerSettings;
  readonly #scheme: 'http' | 'https';
  readonly #exchanges: Exchanges;
  #listener: RequestListener = () => {};
  #due = new DueAnswers();
  readonly #connections: Connections;
  readonly #server: Server;
  #isStopping = false;
  #isDraining = false;

  constructor({ config, tlsFiles, ...parts }: ServerParts) {
    this.#config = config;
    this.#scheme = tlsFiles === undefined ? 'http' : 'https';
    const { clock, log, metrics } = parts;
    const requestLog = new RequestLog(clock, log);
    const unanswered: Unanswered = new Map();
    this.#exchanges = {
      requestLog,
      unanswered,
      openStreams: createOpenStreams(),
      isStopping: () => this.#isStopping,
    };
    this.#connections = new Connections({
      config,
      ...parts,
      handle: (request, response) => {
        request.url = readableTarget(request.url ?? '/');
        if (this.#isDraining) response.shouldKeepAlive = false;
        this.#due.take(response);
        this.#listener(request, response);
      },
    });
    this.#server = this.#createServer(tlsFiles);
    this.#server.timeout = parts.silentAtMostMs ?? SILENT_AT_MOST_MS;
    const answered = { connections: this.#connections, unanswered };
    this.#server.on('clientError', createUnreadableHandler({ ...answered, requestLog, metrics }));
  }

  /** The listener of `create` answers requests; call it before `start`. */
  answerWith(create: (exchanges: Exchanges) => RequestListener): void {
    this.#listener = create(this.#exchanges);
  }

  /** Resolves once all requests so far are answered. */
  answered(): Promise<void> {
    const due = this.#due;
    this.#due = new DueAnswers();
    return due.end();
  }

  /** Rejects if the address is in use. */
  start(): Promise<{ readonly url: string }> {
    return listen(this.#server, this.#config, this.#scheme);
  }

  /**
   * From now on each answer is the last of its connection: the client's next request goes elsewhere, and not into a
   * connection that is about to close. New connections are still accepted.
   */
  drain(): void {
    this.#isDraining = true;
    for (const response of this.#exchanges.unanswered.keys()) response.shouldKeepAlive = false;
  }

  /** Accepts nothing new, and resolves after the answers to all accepted requests, within 10 s. */
  stop(): Promise<void> {
    this.#isStopping = true;
    this.drain();
    this.#exchanges.openStreams.endAll();
    const cancel = this.#connections.stop();
    return new Promise((resolve) => {
      this.#server.close(() => {
        cancel();
        resolve();
      });
    });
  }

  #createServer(tlsFiles: TlsFiles | undefined): Server {
    const { httpHeaderTimeoutS, httpRequestTimeoutS } = this.#config;
    const connections = this.#connections;
    const accept = (request: IncomingMessage, response: ServerResponse) =>
      connections.of(request.socket)?.answerInTurn(request, response);
    const options = {
      headersTimeout: Math.min(httpHeaderTimeoutS, httpRequestTimeoutS) * 1000,
      requestTimeout: httpRequestTimeoutS * 1000,
      connectionsCheckingInterval: TIMEOUTS_CHECKED_EVERY_MS,
      // If Node refused the request itself, its answer would not have our envelope.
      requireHostHeader: false,
    };
    const server =
      tlsFiles === undefined
        ? createServer(options, accept)
        : createHttpsServer(options, accept, { tlsFiles, connections });
    server.maxHeadersCount = HEADERS_AT_MOST;
    server.on('connection', (socket) => connections.open(socket));
    server.on('timeout', (socket) => connections.onSilence(socket));
    // An unknown `Expect` header is ignored, as RFC 9110 allows: Node's own answer would not have our envelope.
    server.on('checkExpectation', accept);
    return server;
  }
}

function listen(
  server: Server,
  { httpHost, httpPort }: ServerSettings,
  scheme: 'http' | 'https',
): Promise<{ url: string }> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(httpPort, httpHost, () => {
      server.off('error', reject);
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : httpPort;
      resolve({ url: `${scheme}://${httpHost.includes(':') ? `[${httpHost}]` : httpHost}:${port}` });
    });
  });
}
