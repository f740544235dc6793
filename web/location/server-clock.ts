// The service's clock on the page: the viewer's clock may be wrong, and the service decides the status of profiles.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { EpochMs } from '../../machines/values/time.js';
import { useEvents } from '../api/use-events.js';

export interface ServerClock {
  nowMs(): EpochMs;
}

/** @param at the newest instant in an answer of the service; until then the viewer's clock is used. */
export function useServerClock(at: string | undefined): ServerClock {
  const offsetMs = useRef(performance.timeOrigin);
  const known = useRef<string | undefined>(undefined);
  if (at !== undefined && at !== known.current) {
    known.current = at;
    offsetMs.current = Date.parse(at) - performance.now();
  }
  const clock = useRef<ServerClock>({ nowMs: () => Math.round(offsetMs.current + performance.now()) });
  return clock.current;
}

/**
 * The service's clock on pages without an instant in their answers: the stream supplies it. The viewer's clock is used
 * until the first event; every location has one soon after the stream opens.
 */
export function useStreamClock(): ServerClock {
  const [at, setAt] = useState<string>();
  useEvents('power', (events) => setAt((before) => before ?? events.at(-1)?.at));
  return useServerClock(at);
}

/** Renders the caller again each second. */
export function useEverySecond(): void {
  const [, setTurn] = useState(0);
  useEvery(1_000, () => setTurn((before) => before + 1));
}

/** Calls the newest `act` every `periodMs` while the page is visible. */
export function useEvery(periodMs: number, act: () => void): void {
  const newest = useRef(act);
  newest.current = act;
  useEffect(() => {
    const timer = window.setInterval(() => {
      if (document.visibilityState === 'visible') newest.current();
    }, periodMs);
    return () => window.clearInterval(timer);
  }, [periodMs]);
}
