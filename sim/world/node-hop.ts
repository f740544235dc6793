// The way from one node of a world to the others: what a node hands on does not arrive while it is cut, or what is answered.
import type { Dispatcher } from 'undici';
import type { Hop } from '../../src/inbound/http/forwarding.js';
import type { NodeHost } from './node-host.js';

/** A connection that is not made in time; nothing of the request has left the node. */
const NO_CONNECTION = Object.assign(new Error('no way to the node'), { code: 'UND_ERR_CONNECT_TIMEOUT' });

export class NodeHop implements Hop {
  readonly #host: Pick<NodeHost, 'cutFromNodes'>;
  readonly #onWaiting = new Set<() => void>();
  #onLeft: (() => void)[] = [];
  /** Requests that are another node's to answer, and whose clients are there. */
  #open = 0;

  constructor(host: Pick<NodeHost, 'cutFromNodes'>) {
    this.#host = host;
  }

  /** Calls it whenever a request that was handed to this node waits for another; returns what ends that. */
  whenWaiting(tell: () => void): () => void {
    this.#onWaiting.add(tell);
    return () => this.#onWaiting.delete(tell);
  }

  /** Resolves once the next client is gone; at once where none is there: what it asked may have been answered meanwhile. */
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

  /** The request is carried out, and nobody hears of it: the node waits until its client leaves. */
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
