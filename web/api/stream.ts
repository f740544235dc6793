// The event stream of the service. It opens before pages read data, reopens after a loss, and delivers events once a
// frame.
import type { StreamEventData, StreamEventName } from '../../src/features/stream-contract.js';
import { type ApiError, asApiError } from './api-error.js';
import type { ApiClient } from './client.js';

// Delays events until the next frame, so that a thousand events a second cause no more renderings than the screen
// shows.
type Handler = (events: readonly unknown[]) => void;

interface FrameQueue {
  add(name: string, data: string): void;
  subscribe<Name extends StreamEventName>(
    name: Name,
    handler: (events: readonly StreamEventData<Name>[]) => void,
  ): () => void;
  /** Drops the delayed events. */
  clear(): void;
}

/** A hidden tab draws no frames; its events are delivered at this interval. */
const LATEST_AFTER_MS = 1_000;

function createFrameQueue(): FrameQueue {
  const handlers = new Map<string, Set<Handler>>();
  const waiting = new Map<string, unknown[]>();
  let frame = 0;
  let timer = 0;

  function schedule(): void {
    frame = requestAnimationFrame(flush);
    timer = window.setTimeout(flush, LATEST_AFTER_MS);
  }

  function unschedule(): void {
    cancelAnimationFrame(frame);
    window.clearTimeout(timer);
  }

  function flush(): void {
    unschedule();
    const told = [...waiting];
    waiting.clear();
    for (const [name, events] of told) {
      for (const handler of handlers.get(name) ?? []) handler(events);
    }
  }

  return {
    add(name, data) {
      // An event without a handler is not parsed.
      if (!handlers.has(name)) return;
      if (waiting.size === 0) schedule();
      const event: unknown = JSON.parse(data);
      const held = waiting.get(name);
      if (held === undefined) waiting.set(name, [event]);
      else held.push(event);
    },
    subscribe(name, handler) {
      const held = handlers.get(name) ?? new Set();
      // The name decides the shape of the event; the service sends no other shape under this name.
      const kept = handler as Handler;
      handlers.set(name, held.add(kept));
      return () => {
        held.delete(kept);
        if (held.size === 0) handlers.delete(name);
      };
    },
    clear() {
      unschedule();
      waiting.clear();
    },
  };
}

// Visibility of the page. A hidden page closes its stream, because a browser has six connections to a service for all
// its tabs. A seventh tab would wait until one of the first six closes.
const UNSEEN_AT_MOST_MS = 5_000;

/** Resolves after the page becomes visible, or after `until` aborts. */
function inSight(until: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    function look(): void {
      if (isHidden() && !until.aborted) return;
      document.removeEventListener('visibilitychange', look);
      until.removeEventListener('abort', look);
      resolve();
    }
    document.addEventListener('visibilitychange', look);
    until.addEventListener('abort', look);
    look();
  });
}

/** Calls `act` after the page was hidden for a while. Returns a function that stops this. */
function onOutOfSight(act: () => void): () => void {
  let timer: number | undefined;
  function look(): void {
    window.clearTimeout(timer);
    if (isHidden()) timer = window.setTimeout(act, UNSEEN_AT_MOST_MS);
  }
  document.addEventListener('visibilitychange', look);
  look();
  return () => {
    window.clearTimeout(timer);
    document.removeEventListener('visibilitychange', look);
  };
}

function isHidden(): boolean {
  return document.visibilityState === 'hidden';
}

// Parses server-sent events from the pieces of a stream.
function createEventParser(onEvent: (name: string, data: string) => void): (text: string) => void {
  let unfinished = '';
  return (text) => {
    const blocks = (unfinished + text).split('\n\n');
    unfinished = blocks.pop() ?? '';
    for (const block of blocks) {
      let name = 'message';
      const data: string[] = [];
      for (const line of block.split('\n')) {
        if (line.startsWith('event: ')) name = line.slice(7);
        else if (line.startsWith('data: ')) data.push(line.slice(6));
      }
      if (data.length > 0) onEvent(name, data.join('\n'));
    }
  };
}

export type Connection = 'connecting' | 'live' | 'lost';

export interface FeedState {
  readonly connection: Connection;
  /** Reason of the loss. */
  readonly reason?: string;
  /** The service answers, but refuses the stream. */
  readonly isRefused?: boolean;
  /**
   * 0 until the first attempt to open the stream has a result, then one more after each opening. The service replays no
   * events, so a new epoch means that data must be read again.
   */
  readonly epoch: number;
}

/** The service sends a comment every 15 s. After two missing comments the connection counts as lost. */
const SILENCE_AT_MOST_MS = 35_000;
const OPENS_WITHIN_MS = 10_000;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 10_000;

export class EventFeed {
  readonly #client: Pick<ApiClient, 'open'>;
  readonly #queue = createFrameQueue();
  readonly #listeners = new Set<() => void>();
  #state: FeedState = { connection: 'connecting', epoch: 0 };
  #closing = new AbortController();
  #endRest = () => {};
  readonly #tryNow = () => this.#endRest();

  constructor(client: Pick<ApiClient, 'open'>) {
    this.#client = client;
  }

  get state(): FeedState {
    return this.#state;
  }

  open(): void {
    this.#closing = new AbortController();
    window.addEventListener('online', this.#tryNow);
    void this.#keepListening(this.#closing.signal);
  }

  close(): void {
    this.#closing.abort();
    window.removeEventListener('online', this.#tryNow);
    this.#tryNow();
    this.#queue.clear();
  }

  /** Calls `listener` after each change of `state`. Returns a function that stops this. */
  onState(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Calls `handler` at most once a frame with all events since the last call, in order. Returns a function that stops
   * this.
   */
  subscribe<Name extends StreamEventName>(
    name: Name,
    handler: (events: readonly StreamEventData<Name>[]) => void,
  ): () => void {
    return this.#queue.subscribe(name, handler);
  }

  #become(next: FeedState): void {
    this.#state = next;
    for (const listener of this.#listeners) listener();
  }

  async #keepListening(closed: AbortSignal): Promise<void> {
    let waitMs = FIRST_WAIT_MS;
    for (;;) {
      await inSight(closed);
      if (closed.aborted) return;
      const { openForMs, refusal } = await this.#listenOnce(closed);
      if (closed.aborted) return;
      if (openForMs > FIRST_WAIT_MS) {
        // The service also ends a stream at the expiry of its token. An immediate retry shows the cause.
        waitMs = FIRST_WAIT_MS;
        this.#become({ connection: 'connecting', epoch: this.#state.epoch });
        continue;
      }
      this.#become({ connection: 'lost', epoch: Math.max(this.#state.epoch, 1), ...reasonOf(refusal) });
      await this.#rest(waitMs * (0.75 + Math.random() / 2));
      waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS);
    }
  }

  /** Resolves after the stream has ended, with the reason and the time that it was open (0 if it did not open). */
  async #listenOnce(closed: AbortSignal): Promise<{ openForMs: number; refusal: ApiError | undefined }> {
    let openedAtMs: number | undefined;
    let refusal: ApiError | undefined;
    try {
      await this.#listen(closed, () => {
        openedAtMs = performance.now();
        this.#become({ connection: 'live', epoch: this.#state.epoch + 1 });
      });
    } catch (thrown) {
      refusal = asApiError(thrown);
    }
    return { openForMs: openedAtMs === undefined ? 0 : performance.now() - openedAtMs, refusal };
  }

  /** Resolves after the stream has ended; throws if it did not open, or broke. */
  async #listen(closed: AbortSignal, onOpen: () => void): Promise<void> {
    const watchdog = new AbortController();
    const cancel = () => watchdog.abort();
    let timer = setTimeout(cancel, OPENS_WITHIN_MS);
    closed.addEventListener('abort', cancel);
    const offSight = onOutOfSight(cancel);
    try {
      const response = await this.#client.open('/stream', watchdog.signal);
      onOpen();
      const parse = createEventParser((name, data) => this.#queue.add(name, data));
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        clearTimeout(timer);
        timer = setTimeout(cancel, SILENCE_AT_MOST_MS);
        const piece = await reader?.read();
        if (piece === undefined || piece.done) return;
        parse(piece.value);
      }
    } finally {
      clearTimeout(timer);
      offSight();
      closed.removeEventListener('abort', cancel);
    }
  }

  #rest(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#endRest = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

function reasonOf(refusal: ApiError | undefined): Pick<FeedState, 'reason' | 'isRefused'> {
  if (refusal === undefined) return {};
  return { reason: refusal.message, isRefused: refusal.status >= 400 && refusal.status < 500 };
}
