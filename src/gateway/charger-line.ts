// What a charger is called, one call after the other, each given up where no answer comes.
import type * as serverClient from 'ocpp-rpc/lib/server-client.js';
import type { Clock } from '../ports/clock.js';

const ANSWERED_WITHIN_MS = 15_000;

/** The library can do both by itself, and makes four errors with their stacks for each call to end its timer: a tenth of all work. */
export class ChargerLine {
  readonly #client: serverClient.default;
  readonly #clock: Clock;
  #last: Promise<unknown> = Promise.resolve();

  constructor(client: serverClient.default, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  /** Resolves with its answer. Rejects where that is an error, and 15 s after it was sent where none came. */
  call(method: string, params: object): Promise<unknown> {
    const answer = this.#last.then(() => this.#send(method, params));
    this.#last = answer.catch(() => {});
    return answer;
  }

  async #send(method: string, params: object): Promise<unknown> {
    const patience = new AbortController();
    const cancel = this.#clock.after(ANSWERED_WITHIN_MS, () => patience.abort('no answer came'));
    try {
      return await this.#client.call(method, params, { callTimeoutMs: 0, signal: patience.signal });
    } finally {
      cancel();
    }
  }
}
