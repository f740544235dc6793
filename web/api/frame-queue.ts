// Delays events until the next frame, so that a thousand events a second cause no more renderings than the screen
// shows.
import type { StreamEventData, StreamEventName } from '../../src/wire/operator-stream.js';

type Handler = (events: readonly unknown[]) => void;

export interface FrameQueue {
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

export function createFrameQueue(): FrameQueue {
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
