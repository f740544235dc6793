// All client connections: bounds their number, chooses the one to close at the bound, and ends all at a stop.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { addressBlock } from '../../guess-limit.js';
import type { Metrics } from '../../metrics.js';
import { openFilesLimit } from '../../open-files.js';
import type { Cancel, Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import { createRareLog, type RareLog } from '../../rare-log.js';

// One connection of a client. It answers requests one after another, and frees pending ones when it closes.
export interface Turn {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

export class Connection {
  /** An IPv4 address or an IPv6 /64. */
  readonly address: string;
  #socket: Socket;
  readonly #keeper: Connections;
  readonly #waiting: Turn[] = [];
  #request: IncomingMessage | undefined;
  #response: ServerResponse | undefined;
  #answerUnreadable: ((brokenOff: Turn | undefined) => void) | undefined;

  constructor(socket: Socket, address: string, keeper: Connections) {
    this.#socket = socket;
    this.address = address;
    this.#keeper = keeper;
  }

  /** The TLS handshake is over: from now on the connection uses `socket`, which runs over the first one. */
  encrypt(socket: Socket): void {
    this.#socket = socket;
  }

  get waitingCount(): number {
    return this.#waiting.length;
  }

  /** No answer is due. */
  get isIdle(): boolean {
    return this.#response === undefined;
  }

  /** The client has to act next: send a request, complete it, or read its answer. */
  get isWaitingForClient(): boolean {
    return this.#response === undefined || this.#response.writableEnded || this.#request?.complete === false;
  }

  /** A request without an answer is still arriving. It has its own time limit, and ends with an answer. */
  get isStillAsking(): boolean {
    return this.#response?.headersSent === false && this.#request?.complete === false;
  }

  /** Answers the request after all earlier ones. */
  answerInTurn(request: IncomingMessage, response: ServerResponse): void {
    // Node parses a chunk to its end, even if one of its first requests ended the connection.
    if (this.#socket.destroyed || this.#answerUnreadable !== undefined) return;
    if (this.#response === undefined) this.#start(request, response);
    else if (this.#keeper.reserveRoomToWait(this)) this.#waiting.push({ request, response });
  }

  /**
   * The rest of the input is unreadable. Earlier requests are answered first. Then `answer` is called, with the request
   * that broke off in the middle if it has no answer yet.
   */
  breakOff(answer: (brokenOff: Turn | undefined) => void): void {
    if (!this.#socket.writable) this.destroy();
    if (this.#socket.destroyed || this.#answerUnreadable !== undefined) return;
    this.#answerUnreadable = answer;
    const { complete } = this.#waiting.at(-1)?.request ?? this.#request ?? { complete: true };
    // A client that was answered before it had sent everything gets no second answer.
    if (!complete && this.#response === undefined) this.destroy();
    else if (this.#response === undefined) answer(undefined);
    else if (!complete && this.#waiting.length === 0) this.#answerBrokenOff(this.#response);
  }

  /** Sends a final answer and closes. Call `destroy` afterwards, for clients that neither read it nor disconnect. */
  end(text: string): void {
    this.#socket.end(text);
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** Drops pending requests after the socket has closed: Node closes only the response that is being sent. */
  release(): void {
    this.#keeper.giveBackRoomToWait(this.#waiting.length);
    this.#waiting.length = 0;
  }

  #start(request: IncomingMessage, response: ServerResponse): void {
    this.#request = request;
    this.#response = response;
    response.on('close', this.#next);
    this.#keeper.handle(request, response);
  }

  readonly #next = (): void => {
    this.#response = undefined;
    if (this.#request?.complete === true) this.#request = undefined;
    if (this.#socket.destroyed) return;
    const next = this.#waiting.shift();
    if (next !== undefined) this.#keeper.giveBackRoomToWait(1);
    const answer = this.#answerUnreadable;
    if (next !== undefined && (answer === undefined || next.request.complete)) {
      this.#start(next.request, next.response);
    } else if (answer !== undefined) {
      answer(undefined);
    } else {
      this.#keeper.onIdle(this);
    }
  };

  #answerBrokenOff(response: ServerResponse): void {
    const request = this.#request;
    const answer = this.#answerUnreadable;
    // This answer is the last one of the connection.
    this.#answerUnreadable = () => this.#socket.destroySoon();
    if (!response.headersSent && request !== undefined) answer?.({ request, response });
  }
}

/** Settings of the same names. */
export interface ConnectionSettings {
  readonly httpConnections: number;
  readonly httpConnectionsPerAddress: number;
}

interface ConnectionParts {
  readonly config: ConnectionSettings;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void;
  /** Limit on open files of the process, if known. */
  readonly openFiles?: number | undefined;
}

/** Reason of a refused or cut connection, as the metric names it. */
type Reason = 'connections' | 'address' | 'room' | 'pipelined' | 'silent';

const WHAT_HAPPENED = {
  connections: 'an HTTP connection was refused: HEADROOM_HTTP_CONNECTIONS are open',
  address: 'an HTTP connection was refused: HEADROOM_HTTP_CONNECTIONS_PER_ADDRESS are open from its address',
  room: 'an HTTP connection that waited for its client was closed to make room for another',
  pipelined: 'an HTTP connection was cut: too many requests wait on it',
  silent: 'an HTTP connection was cut: its client neither sends nor reads',
} as const satisfies Record<Reason, string>;

/** Pending requests of one connection, and of all connections together. */
const WAITING_AT_MOST = 16;
const WAITING_IN_ALL = 1_000;
/** HTTP may use the limit on open files divided by this; the rest is for chargers and the database. */
const OPEN_FILES_PART = 4;
const LINGER_MS = 1_000;
const CLIENTS_STOP_WITHIN_MS = 2_000;
const STOP_WITHIN_MS = 8_000;

export class Connections {
  readonly handle: ConnectionParts['handle'];
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #metrics: Metrics;
  readonly #rareLog: RareLog;
  readonly #atMost: number;
  readonly #atMostPerAddress: number;
  readonly #bySocket = new WeakMap<Duplex, Connection>();
  /** Least recently answered first. */
  readonly #open = new Set<Connection>();
  readonly #ofAddress = new Map<string, number>();
  #waitingInAll = 0;
  #isStopping = false;

  constructor({ config, clock, log, metrics, handle, openFiles = openFilesLimit() }: ConnectionParts) {
    this.handle = handle;
    this.#clock = clock;
    this.#log = log;
    this.#metrics = metrics;
    this.#rareLog = createRareLog(clock);
    this.#atMost = Math.min(config.httpConnections, Math.ceil((openFiles ?? Infinity) / OPEN_FILES_PART));
    this.#atMostPerAddress = config.httpConnectionsPerAddress;
    if (this.#atMost < config.httpConnections) {
      log.warn(
        { openFiles, atMost: this.#atMost },
        'the limit of open files is low: HTTP takes fewer connections',
      );
    }
  }

  /** Refuses the connection if there are too many and all others are busy. */
  open(socket: Socket): void {
    const address = addressBlock(socket.remoteAddress ?? 'unknown');
    if (!this.#hasRoomFor(address)) {
      socket.destroy();
      return;
    }
    const connection = new Connection(socket, address, this);
    this.#bySocket.set(socket, connection);
    this.#open.add(connection);
    this.#ofAddress.set(address, this.#countOf(address) + 1);
    this.#metrics.httpConnections.set(this.#open.size);
    socket.once('close', () => this.#remove(connection));
  }

  /** The TLS handshake on `socket` is over: from now on the connection uses `encrypted`. */
  encrypt(socket: Socket, encrypted: Socket): void {
    const connection = this.of(socket);
    if (connection === undefined) return;
    connection.encrypt(encrypted);
    this.#bySocket.set(encrypted, connection);
  }

  of(socket: Duplex): Connection | undefined {
    return this.#bySocket.get(socket);
  }

  /** Reserves a place for one more pending request. @returns false if the connection was cut instead */
  reserveRoomToWait(connection: Connection): boolean {
    if (connection.waitingCount >= WAITING_AT_MOST || this.#waitingInAll >= WAITING_IN_ALL) {
      this.#cut(connection, 'pipelined');
      return false;
    }
    this.#waitingInAll++;
    return true;
  }

  giveBackRoomToWait(count: number): void {
    this.#waitingInAll -= count;
  }

  /** An answer was sent, and no request of the connection is pending. */
  onIdle(connection: Connection): void {
    if (this.#isStopping) {
      connection.destroy();
      return;
    }
    this.#open.delete(connection);
    this.#open.add(connection);
  }

  /** The connection was silent for too long. Between two requests connections usually end this way. */
  onSilence(socket: Socket): void {
    const connection = this.of(socket);
    if (connection === undefined || connection.isIdle) socket.destroy();
    else if (!connection.isStillAsking) this.#cut(connection, 'silent');
  }

  /** Sends a final answer. The client has `LINGER_MS` to read it before the connection is closed. */
  end(connection: Connection, text: string): void {
    connection.end(text);
    this.#clock.after(LINGER_MS, () => connection.destroy());
  }

  /**
   * Closes every connection after its answers. A client has 2 s to complete its request and to
   * read its answer. The service has 8 s to answer.
   * @returns a function that cancels those limits
   */
  stop(): Cancel {
    this.#isStopping = true;
    const cancels = [
      this.#clock.after(CLIENTS_STOP_WITHIN_MS, () =>
        this.#destroyWhere((connection) => connection.isWaitingForClient),
      ),
      this.#clock.after(STOP_WITHIN_MS, () => this.#destroyWhere(() => true)),
    ];
    return () => {
      for (const cancel of cancels) cancel();
    };
  }

  #hasRoomFor(address: string): boolean {
    const isAddressFull = this.#countOf(address) >= this.#atMostPerAddress;
    if (!isAddressFull && this.#open.size < this.#atMost) return true;
    for (const connection of this.#open) {
      if (!connection.isWaitingForClient || (isAddressFull && connection.address !== address)) continue;
      this.#cut(connection, 'room');
      this.#remove(connection);
      return true;
    }
    this.#tell(isAddressFull ? 'address' : 'connections', address);
    return false;
  }

  #cut(connection: Connection, reason: Reason): void {
    this.#tell(reason, connection.address);
    connection.destroy();
  }

  #tell(reason: Reason, address: string): void {
    this.#metrics.httpRefusals.inc({ reason });
    this.#rareLog(`${reason} ${address}`, () => this.#log.warn({ address, reason }, WHAT_HAPPENED[reason]));
  }

  #destroyWhere(matches: (connection: Connection) => boolean): void {
    for (const connection of [...this.#open]) if (matches(connection)) connection.destroy();
  }

  #countOf(address: string): number {
    return this.#ofAddress.get(address) ?? 0;
  }

  #remove(connection: Connection): void {
    connection.release();
    if (!this.#open.delete(connection)) return;
    const count = this.#countOf(connection.address) - 1;
    if (count === 0) this.#ofAddress.delete(connection.address);
    else this.#ofAddress.set(connection.address, count);
    this.#metrics.httpConnections.set(this.#open.size);
  }
}
