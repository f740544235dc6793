// The HTTP server: applies time limits, answers unreadable requests too, and stops without dropping a request.
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { Metrics } from '../../metrics.js';
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import type { TlsFiles } from '../../tls-files.js';
import { type ConnectionSettings, Connections } from './connections.js';
import { DueAnswers, type Exchanges, RequestLog, readableTarget } from './exchange.js';
import { createHttpsServer } from './https-server.js';
import { createOpenStreams } from './open-streams.js';
import { createUnreadableHandler } from './unreadable.js';

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

/** A request listener in use, with its due answers. */
interface Answering {
  readonly listener: RequestListener;
  readonly due: DueAnswers;
}

export class HttpServer {
  readonly #config: ServerSettings;
  readonly #scheme: 'http' | 'https';
  readonly #exchanges: Exchanges;
  #answering: Answering = { listener: () => {}, due: new DueAnswers() };
  /** Earlier listeners with due answers. */
  readonly #earlier = new Set<Promise<void>>();
  readonly #connections: Connections;
  readonly #server: Server;
  #isStopping = false;
  #isDraining = false;

  constructor({ config, tlsFiles, ...parts }: ServerParts) {
    this.#config = config;
    this.#scheme = tlsFiles === undefined ? 'http' : 'https';
    const { clock, log, metrics } = parts;
    const requestLog = new RequestLog(clock, log);
    const unanswered = new Map();
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
        this.#answering.due.take(response);
        this.#answering.listener(request, response);
      },
    });
    this.#server = this.#createServer(tlsFiles);
    this.#server.timeout = parts.silentAtMostMs ?? SILENT_AT_MOST_MS;
    const answered = { connections: this.#connections, unanswered };
    this.#server.on('clientError', createUnreadableHandler({ ...answered, requestLog, metrics }));
  }

  /**
   * From now on the listener of `create` answers requests; call it before `start`. Resolves once the listener before
   * has given all its answers, and its streams have ended.
   */
  async answerWith(create: (exchanges: Exchanges) => RequestListener): Promise<void> {
    const answered = this.#follow(create(this.#exchanges));
    this.#exchanges.openStreams.endAll();
    await answered;
  }

  /** Resolves once all requests so far are answered. */
  async answered(): Promise<void> {
    this.#follow(this.#answering.listener);
    await Promise.all(this.#earlier);
  }

  /** Resolves once the listener before has given all its answers. */
  #follow(listener: RequestListener): Promise<void> {
    const answered = this.#answering.due.end();
    this.#answering = { listener, due: new DueAnswers() };
    this.#earlier.add(answered);
    void answered.then(() => this.#earlier.delete(answered));
    return answered;
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
    for (const response of this.#exchanges.unanswered.values()) response.shouldKeepAlive = false;
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
