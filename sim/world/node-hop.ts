// The path from one node of a world to the others. While it is cut, either requests or answers are lost.
import type { Dispatcher } from 'undici';
import type { Hop } from '../../src/inbound/http/forwarding.js';
import type { NodeHost } from './node-host.js';

/** A timeout of the connection: no part of the request has left the node. */
const NO_CONNECTION = Object.assign(new Error('no way to the node'), { code: 'UND_ERR_CONNECT_TIMEOUT' });

export class NodeHop implements Hop {
  readonly #host: Pick<NodeHost, 'cutFromNodes'>;
  readonly #onWaiting = new Set<() => void>();
  #onLeft: (() => void)[] = [];
  /** Number of requests for other nodes whose clients are still connected. */
  #open = 0;

  constructor(host: Pick<NodeHost, 'cutFromNodes'>) {
    this.#host = host;
  }

  /** Calls `tell` whenever a request to this node waits for another node. Returns the function that ends this. */
  whenWaiting(tell: () => void): () => void {
    this.#onWaiting.add(tell);
    return () => this.#onWaiting.delete(tell);
  }

  /** Resolves once the next client has left, or at once without a client: its request may have an answer by now. */
  clientLeft(): Promise<void> {
    if (this.#open === 0) return Promise.resolve();
    return new Promise((resolve) => this.#onLeft.push(resolve));
  }

  wrap(agent: Dispatcher): Dispatcher {
    return agent.compose((dispatch) => (options, handler) => {
      const { cutFromNodes } = this.#host;
      if (cutFromNodes === undefined) return dispatch(options, handler);
      if (cutFromNodes === 'requests') {
        queueMicrotask(() => handler.onError?.(NO_CONNECTION));
        return true;
      }
      return dispatch(options, this.#losingAnswers(handler));
    });
  }

  came(): void {
    this.#open++;
  }

  waits(): void {
    for (const tell of this.#onWaiting) tell();
  }

  left(): void {
    this.#open--;
    for (const tell of this.#onLeft.splice(0)) tell();
  }

  /** The other node executes the request, but no answer comes back: this node waits until its client leaves. */
  #losingAnswers(handler: Dispatcher.DispatchHandlers): Dispatcher.DispatchHandlers {
    return {
      onConnect: () => handler.onConnect?.((reason) => handler.onError?.(reason ?? NO_CONNECTION)),
      onHeaders: () => true,
      onData: () => true,
      onComplete: () => this.waits(),
      onError: () => this.waits(),
    };
  }
}
