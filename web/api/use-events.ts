// Subscribes to the stream as long as a component is rendered.
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { StreamEventData, StreamEventName } from '../../src/features/stream-contract.js';
import { useSession } from '../session/session.js';

/** Calls the newest `handler`, at most once a frame, with the events of that name since the last call. */
export function useEvents<Name extends StreamEventName>(
  name: Name,
  handler: (events: readonly StreamEventData<Name>[]) => void,
): void {
  const { feed } = useSession();
  const newest = useRef(handler);
  newest.current = handler;
  // A layout effect subscribes before the first read, because events after this read must not be missed.
  useLayoutEffect(() => feed.subscribe(name, (events) => newest.current(events)), [feed, name]);
}
