// HTTP or TLS server for the web socket requests of chargers. It bounds the connections that send no request.
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
import { openFilesLimit } from '../../open-files.js';
import type { GatewayMetrics } from '../gateway-metrics.js';

/** A charger has requested its web socket by then. */
const ASKS_WITHIN_MS = 10_000;
const LOOKS_EVERY_MS = 2_000;
/** Connections without a request may use the limit on open files divided by this. */
const OPEN_FILES_PART = 4;
const SILENT_AT_MOST = 2_000;

export interface ChargerHttpOptions {
  /** For `wss://`; with `ca` each charger must present a certificate. */
  readonly tls: Pick<ServerOptions, 'cert' | 'key' | 'ca'> | undefined;
  readonly metrics: GatewayMetrics;
  /** Called for an upgrade request with a readable path. */
  readonly onUpgrade: (request: IncomingMessage, socket: Socket, head: Buffer) => void;
  /** Limit on open files of this process; by default the limit of the system. */
  readonly openFiles?: number | undefined;
}

export class ChargerHttp {
  readonly #metrics: GatewayMetrics;
  readonly #server: Server;
  readonly #silentAtMost: number;
  /** Connections without a request so far, by origin, oldest first. */
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
      // An unreadable path would end the process inside the library. The library
      // answers 500 to an unreadable list of protocols.
      if (!isReadable(request.url)) refuseUpgrade(socket, 400, 'The path cannot be read');
      else if (!isList(request.headers['sec-websocket-protocol']))
        refuseUpgrade(socket, 400, 'Sec-WebSocket-Protocol must be a list of different names');
      else onUpgrade(request, socket, head);
    });
    this.#server.on('tlsClientError', () => metrics.refusals.inc({ reason: 'tls' }));
  }

  /** Listens on `port`, 0 for a free one. @returns the port in use */
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

  /** Above the limit, the oldest connection without a request is closed. */
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

/** The TLS socket and the TCP connection below it have the same key. */
function originOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/** Answers an upgrade request with an error and closes its connection. */
export function refuseUpgrade(
  socket: Socket,
  status: number,
  message: string,
  headers: OutgoingHttpHeaders = {},
): void {
  // An unhandled error of a socket would end the process, and this charger may be gone already.
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

/** A missing header is valid. */
function isList(header: string | undefined): boolean {
  if (header === undefined) return true;
  const names = header.split(',').map((name) => name.trim());
  return names.every((name) => NAME.test(name)) && new Set(names).size === names.length;
}
