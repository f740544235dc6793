// Owns all resources of one charger's socket, such as a login at the
// service. They end with the socket, however that ends.
import type { Socket } from 'node:net';
import type { Log } from '../../ports/log.js';

/** Releases a resource; a second call has no effect. */
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
    // A closed socket emits no further event.
    if (socket.closed) void this.end();
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** The reason given to `end`; undefined while the socket is open, and if it closed by itself. */
  get why(): string | undefined {
    return this.#why;
  }

  /** Calls `release` when the socket ends, and at once if it has ended. The newest is called first. */
  add(release: Release): void {
    if (this.#isEnded) void this.#settle(release);
    else this.#releases.push(release);
  }

  /**
   * Releases everything and closes the socket, after `farewell` if there is one. Never rejects.
   * @returns `ended`
   */
  end(why?: string, farewell?: Promise<unknown>): Promise<void> {
    if (this.#isEnded) return this.ended;
    this.#isEnded = true;
    this.#why = why;
    // Releases do not wait for each other: one that hangs must not keep a login open.
    const releases = this.#releases.splice(0).reverse();
    const released = releases.map((release) => this.#settle(release));
    if (farewell === undefined) this.#socket.destroy();
    const closed = farewell?.catch(() => {}).then(() => void this.#socket.destroy());
    void Promise.all([...released, closed]).then(this.#resolveEnded);
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
