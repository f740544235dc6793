// One connection of a client. It answers requests one after another, and frees pending ones when it closes.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** The owner of all connections. */
export interface ConnectionKeeper {
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void;
  /** Reserves a place for one more pending request. @returns false if the connection was cut instead */
  reserveRoomToWait(connection: Connection): boolean;
  giveBackRoomToWait(count: number): void;
  /** An answer was sent, and no request of the connection is pending. */
  onIdle(connection: Connection): void;
}

export class Connection {
  /** An IPv4 address or an IPv6 /64. */
  readonly address: string;
  #socket: Socket;
  readonly #keeper: ConnectionKeeper;
  readonly #waiting: Exchange[] = [];
  #request: IncomingMessage | undefined;
  #response: ServerResponse | undefined;
  #answerUnreadable: ((brokenOff: Exchange | undefined) => void) | undefined;

  constructor(socket: Socket, address: string, keeper: ConnectionKeeper) {
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
  breakOff(answer: (brokenOff: Exchange | undefined) => void): void {
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
