// The service's clock on pages whose answers name no instant: the stream does.
import { useState } from 'preact/hooks';
import { useEvents } from '../api/use-events.js';
import { type ServerClock, useServerClock } from './server-clock.js';

/** The viewer's clock until the first event; every location has one soon after the stream was opened. */
export function useStreamClock(): ServerClock {
  const [at, setAt] = useState<string>();
  useEvents('power', (events) => setAt((before) => before ?? events.at(-1)?.at));
  return useServerClock(at);
}
