// Where chargers connect: HTTP or TLS, and no more connections that ask for nothing than leaves room for chargers.
import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import { createServer as createTlsServer, type ServerOptions } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { openFilesLimit } from '../open-files.js';
import type { GatewayMetrics } from './gateway-metrics.js';

/** A charger has asked for its web socket by then. */
const ASKS_WITHIN_MS = 10_000;
const LOOKS_EVERY_MS = 2_000;
/** Connections that ask for nothing may use the limit on open files divided by this. */
const OPEN_FILES_PART = 4;
const SILENT_AT_MOST = 2_000;

export interface ChargerHttpOptions {
  /** For `wss://`; with `ca` each charger has to show a certificate. */
  readonly tls: Pick<ServerOptions, 'cert' | 'key' | 'ca'> | undefined;
  readonly metrics: GatewayMetrics;
  /** A web socket is asked for, by a path that can be read. */
  readonly onUpgrade: (request: IncomingMessage, socket: Socket, head: Buffer) => void;
  /** That this process may have; left out, as the system says. */
  readonly openFiles?: number | undefined;
}

export class ChargerHttp {
  readonly #metrics: GatewayMetrics;
  readonly #server: Server;
  readonly #silentAtMost: number;
  /** Connections that have asked for nothing yet, by where they come from, oldest first. */
  readonly #silent = new Map<string, Socket>();

  constructor({ tls, metrics, onUpgrade, openFiles = openFilesLimit() }: ChargerHttpOptions) {
    this.#metrics = metrics;
    this.#silentAtMost = Math.min(SILENT_AT_MOST, Math.ceil((openFiles ?? Infinity) / OPEN_FILES_PART));
    const asks = tls?.ca === undefined ? {} : { requestCert: true, rejectUnauthorized: true };
    const limits = {
      noDelay: true,
      headersTimeout: ASKS_WITHIN_MS,
      requestTimeout: ASKS_WITHIN_MS,
      connectionsCheckingInterval: LOOKS_EVERY_MS,
    };
    const refuse = ({ socket }: IncomingMessage, response: ServerResponse) => {
      this.#silent.delete(originOf(socket));
      response.writeHead(426, { upgrade: 'websocket', connection: 'close' }).end();
    };
    this.#server =
      tls === undefined
        ? createServer(limits, refuse)
        : createTlsServer(
            { ...limits, ...tls, ...asks, minVersion: 'TLSv1.2', handshakeTimeout: ASKS_WITHIN_MS },
            refuse,
          );
    this.#server.on('connection', (socket: Socket) => this.#connected(socket));
    this.#server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
      this.#silent.delete(originOf(socket));
      // A path that cannot be read would end the process in the library; it answers 500 to such a list.
      if (!isReadable(request.url)) refuseUpgrade(socket, 400, 'The path cannot be read');
      else if (!isList(request.headers['sec-websocket-protocol']))
        refuseUpgrade(socket, 400, 'Sec-WebSocket-Protocol must be a list of different names');
      else onUpgrade(request, socket, head);
    });
    this.#server.on('tlsClientError', () => metrics.refusals.inc({ reason: 'tls' }));
  }

  /** Listens on `port`, 0 for a free one. @returns the one it listens on */
  async listen(port: number, host: string): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, host, resolve);
    });
    return (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => void this.#server.close(resolve));
  }

  /** Where too many ask for nothing, the oldest of them makes room. */
  #connected(socket: Socket): void {
    const origin = originOf(socket);
    this.#silent.set(origin, socket);
    socket.once('close', () => {
      if (this.#silent.get(origin) === socket) this.#silent.delete(origin);
    });
    if (this.#silent.size <= this.#silentAtMost) return;
    const [oldest] = this.#silent.values();
    this.#metrics.refusals.inc({ reason: 'silent' });
    oldest?.destroy();
  }
}

/** The same of a connection and of the encrypted one within it. */
function originOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/** Answers a request for a web socket with an error, and closes its connection. */
export function refuseUpgrade(
  socket: Socket,
  status: number,
  message: string,
  headers: OutgoingHttpHeaders = {},
): void {
  // An error of a socket that nobody listens to would end the process, and this charger may be gone already.
  socket.on('error', () => socket.destroy());
  socket.once('finish', () => socket.destroy());
  const lines = Object.entries({
    connection: 'close',
    'content-type': 'text/plain',
    'content-length': Buffer.byteLength(message),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('\r\n')}\r\n\r\n${message}`);
}

function isReadable(url: string | undefined): boolean {
  try {
    const { pathname } = new URL(`http://localhost${url ?? '/'}`);
    return decodeURIComponent(pathname) !== '';
  } catch {
    return false;
  }
}

const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** None at all is one, too. */
function isList(header: string | undefined): boolean {
  if (header === undefined) return true;
  const names = header.split(',').map((name) => name.trim());
  return names.every((name) => NAME.test(name)) && new Set(names).size === names.length;
}
