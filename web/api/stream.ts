// The event stream of the service: opened before pages read, opened again whenever it is lost, told once a frame.
import type { StreamEventName } from '../../src/wire/operator-stream.js';
import { type ApiError, asApiError } from './api-error.js';
import type { ApiClient } from './client.js';
import { createEventParser } from './event-parser.js';
import { createFrameQueue, type EventData } from './frame-queue.js';
import { inSight, onOutOfSight } from './in-sight.js';

export type Connection = 'connecting' | 'live' | 'lost';

export interface FeedState {
  readonly connection: Connection;
  /** Why it is lost. */
  readonly reason?: string;
  /** The service is there, and opens no stream. */
  readonly isRefused?: boolean;
  /**
   * 0 until it is known whether the stream opens, then one more each time it has opened: nothing is replayed, so
   * what was read before is read again.
   */
  readonly epoch: number;
}

export interface EventFeed {
  open(): void;
  close(): void;
  readonly state: FeedState;
  /** Calls `listener` whenever `state` is another. Returns the function that ends it. */
  onState(listener: () => void): () => void;
  /** Calls `handler` at most once a frame with all that came since, in order. Returns the function that ends it. */
  subscribe<Name extends StreamEventName>(
    name: Name,
    handler: (events: readonly EventData<Name>[]) => void,
  ): () => void;
}

/** The service sends a comment every 15 s: two of them missing means that nobody is there. */
const SILENCE_AT_MOST_MS = 35_000;
const OPENS_WITHIN_MS = 10_000;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 10_000;

export function createEventFeed(client: Pick<ApiClient, 'open'>): EventFeed {
  const queue = createFrameQueue();
  const listeners = new Set<() => void>();
  let state: FeedState = { connection: 'connecting', epoch: 0 };
  let closing = new AbortController();
  let wake = () => {};

  function become(next: FeedState): void {
    state = next;
    for (const listener of listeners) listener();
  }

  /** Resolves with why the stream ended; throws where it did not open or broke. */
  async function listen(closed: AbortSignal, onOpen: () => void): Promise<void> {
    const watchdog = new AbortController();
    const cancel = () => watchdog.abort();
    let timer = setTimeout(cancel, OPENS_WITHIN_MS);
    closed.addEventListener('abort', cancel);
    const offSight = onOutOfSight(cancel);
    try {
      const response = await client.open('/stream', watchdog.signal);
      onOpen();
      const take = createEventParser(queue.take);
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        clearTimeout(timer);
        timer = setTimeout(cancel, SILENCE_AT_MOST_MS);
        const piece = await reader?.read();
        if (piece === undefined || piece.done) return;
        take(piece.value);
      }
    } finally {
      clearTimeout(timer);
      offSight();
      closed.removeEventListener('abort', cancel);
    }
  }

  async function keepListening(closed: AbortSignal): Promise<void> {
    let waitMs = FIRST_WAIT_MS;
    for (;;) {
      await inSight(closed);
      if (closed.aborted) return;
      let openedAtMs: number | undefined;
      let refusal: ApiError | undefined;
      try {
        await listen(closed, () => {
          openedAtMs = performance.now();
          become({ connection: 'live', epoch: state.epoch + 1 });
        });
      } catch (thrown) {
        refusal = asApiError(thrown);
      }
      if (closed.aborted) return;
      if (openedAtMs !== undefined && performance.now() - openedAtMs > FIRST_WAIT_MS) {
        // A stream ends with its token, too: whether the service is there is seen at the next try, which is at once.
        waitMs = FIRST_WAIT_MS;
        become({ connection: 'connecting', epoch: state.epoch });
        continue;
      }
      become({
        connection: 'lost',
        epoch: Math.max(state.epoch, 1),
        ...(refusal === undefined
          ? {}
          : { reason: refusal.message, isRefused: refusal.status >= 400 && refusal.status < 500 }),
      });
      await rest(waitMs * (0.75 + Math.random() / 2));
      waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS);
    }
  }

  function rest(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  const tryNow = () => wake();

  return {
    open() {
      closing = new AbortController();
      window.addEventListener('online', tryNow);
      void keepListening(closing.signal);
    },
    close() {
      closing.abort();
      window.removeEventListener('online', tryNow);
      tryNow();
      queue.clear();
    },
    get state() {
      return state;
    },
    onState(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    subscribe: queue.subscribe,
  };
}
