// One connection of a client: what it asks is answered one after another, and what waits is freed with the connection.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** The owner of the connections is told what happens to each. */
export interface ConnectionKeeper {
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void;
  /** Room for one more request that waits for the answers before it; false where the connection was cut instead. */
  reserveRoomToWait(connection: Connection): boolean;
  giveBackRoomToWait(count: number): void;
  /** An answer was sent, and no request waits for another. */
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

  /** Its handshake is over: what is said from now on goes through `socket`, which runs over the one it began with. */
  encrypt(socket: Socket): void {
    this.#socket = socket;
  }

  get waitingCount(): number {
    return this.#waiting.length;
  }

  /** Whether no answer is due. */
  get isIdle(): boolean {
    return this.#response === undefined;
  }

  /** Whether the next move is the client's: to ask, to finish asking, or to read its answer. */
  get isWaitingForClient(): boolean {
    return this.#response === undefined || this.#response.writableEnded || this.#request?.complete === false;
  }

  /** Whether a request is still arriving that has no answer yet: it has its own time limit, and ends with an answer. */
  get isStillAsking(): boolean {
    return this.#response?.headersSent === false && this.#request?.complete === false;
  }

  /** Answers the request when those before it are answered. */
  answerInTurn(request: IncomingMessage, response: ServerResponse): void {
    // A chunk that was read is parsed to its end, even if one of its first requests ended the connection.
    if (this.#socket.destroyed || this.#answerUnreadable !== undefined) return;
    if (this.#response === undefined) this.#start(request, response);
    else if (this.#keeper.reserveRoomToWait(this)) this.#waiting.push({ request, response });
  }

  /**
   * Nothing that can be read follows. What was asked before is answered; then `answer` is called, with the request that
   * broke off in the middle if it has no answer yet.
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

  /** Lets go of what waits, once the socket is closed: Node tells only the response that is being sent. */
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
