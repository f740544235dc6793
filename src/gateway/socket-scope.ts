// Owns all that one charger's socket brought about, such as a login at the service: it ends with the socket, however that ends.
import type { Socket } from 'node:net';
import type { Log } from '../ports/log.js';

/** Releases something; a second call has no effect. */
export type Release = () => Promise<void> | void;

export class SocketScope {
  readonly #socket: Socket;
  readonly #log: Log;
  readonly #releases: Release[] = [];
  #isEnded = false;
  #why: string | undefined;
  #resolveEnded: () => void = () => {};
  /** Resolves once the socket has ended and all releases are done. */
  readonly ended = new Promise<void>((resolve) => {
    this.#resolveEnded = resolve;
  });

  constructor(socket: Socket, log: Log) {
    this.#socket = socket;
    this.#log = log;
    socket.once('close', () => void this.end());
    // A closed socket emits nothing any more.
    if (socket.closed) void this.end();
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** The reason given to `end`; undefined while the socket is open, and where it closed by itself. */
  get why(): string | undefined {
    return this.#why;
  }

  /** Calls `release` when the socket ends, and at once if it has ended. The newest is called first. */
  add(release: Release): void {
    if (this.#isEnded) void this.#settle(release);
    else this.#releases.push(release);
  }

  /** Releases everything and closes the socket. Never rejects. @returns `ended` */
  end(why?: string): Promise<void> {
    if (this.#isEnded) return this.ended;
    this.#isEnded = true;
    this.#why = why;
    // Each begins without waiting for the others: one that hangs must keep no login.
    const releases = this.#releases.splice(0).reverse();
    const released = releases.map((release) => this.#settle(release));
    this.#socket.destroy();
    void Promise.all(released).then(this.#resolveEnded);
    return this.ended;
  }

  async #settle(release: Release): Promise<void> {
    try {
      await release();
    } catch (error) {
      this.#log.error({ err: error }, 'a closed charger connection could not be cleaned up');
    }
  }
}
