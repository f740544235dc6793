// Listening to the stream for as long as a part of the page is shown.
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { StreamEventData, StreamEventName } from '../../src/wire/operator-stream.js';
import { useSession } from '../session/session.js';

/** Calls `handler`, the newest given, at most once a frame with the events of that name since the last call. */
export function useEvents<Name extends StreamEventName>(
  name: Name,
  handler: (events: readonly StreamEventData<Name>[]) => void,
): void {
  const { feed } = useSession();
  const newest = useRef(handler);
  newest.current = handler;
  // A layout effect, so that it listens before anything is read: events since then must not be missed.
  useLayoutEffect(() => feed.subscribe(name, (events) => newest.current(events)), [feed, name]);
}
