// Sends calls to a charger one after another, and gives each up if no answer comes.
import type * as serverClient from 'ocpp-rpc/lib/server-client.js';
import type { Clock } from '../ports/clock.js';

const ANSWERED_WITHIN_MS = 15_000;

/**
 * Replaces the queue and the timeout of the library. Those make four errors
 * with stacks for each call, a tenth of all work.
 */
export class ChargerLine {
  readonly #client: serverClient.default;
  readonly #clock: Clock;
  #last: Promise<unknown> = Promise.resolve();

  constructor(client: serverClient.default, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  /** Resolves to the answer. Rejects if that is an error, and 15 s after the call was sent without an answer. */
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
