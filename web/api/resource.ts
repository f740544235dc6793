// What a page reads from the service: read once the stream is open, and again after each reconnect.
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useFeedState, useSession } from '../session/session.js';
import { type ApiError, asApiError } from './api-error.js';
import type { ApiClient } from './client.js';

export interface Resource<T> {
  /** The newest that was read; stays while it is read again or that fails. */
  readonly value: T | undefined;
  /** Why the newest reading failed; undefined after one that succeeded. */
  readonly error: ApiError | undefined;
  readonly isLoading: boolean;
  /** Reads again, at the latest `withinMs` from now; several calls cause one reading. */
  reread(withinMs?: number): void;
  /**
   * Changes the value by what an event said. What comes while a reading is under way is applied to what it brings,
   * too, so `change` sets values and does not count.
   */
  update(change: (value: T) => T): void;
}

/** An error that may pass by itself: it is read again. */
const PASSING: ReadonlySet<string> = new Set([
  'UNREACHABLE',
  'UNREADABLE',
  'SERVICE_UNAVAILABLE',
  'RATE_LIMITED',
]);
const AGAIN_WITHIN_MS = 3_000;

/** Reads with `load` whenever one of `inputs` has changed. */
export function useResource<T>(
  load: (client: ApiClient, signal: AbortSignal) => Promise<T>,
  inputs: readonly (string | number | undefined)[],
): Resource<T> {
  const { client } = useSession();
  const { epoch } = useFeedState();
  const [held, setHeld] = useState<{ value?: T; error?: ApiError; isLoading: boolean }>({ isLoading: true });
  const [turn, setTurn] = useState(0);
  const changesMeanwhile = useRef<((value: T) => T)[] | undefined>(undefined);
  const timer = useRef<number | undefined>(undefined);

  const reread = useCallback((withinMs = 0) => {
    if (withinMs === 0) {
      setTurn((before) => before + 1);
      return;
    }
    timer.current ??= window.setTimeout(() => {
      timer.current = undefined;
      setTurn((before) => before + 1);
    }, withinMs);
  }, []);

  // A layout effect: an ordinary one would start the reading only after the page was drawn without its data.
  useLayoutEffect(() => {
    if (epoch === 0) return;
    const abort = new AbortController();
    const changes: ((value: T) => T)[] = [];
    changesMeanwhile.current = changes;
    setHeld((before) => ({ ...before, isLoading: true }));
    load(client, abort.signal).then(
      (read) => {
        if (abort.signal.aborted) return;
        changesMeanwhile.current = undefined;
        setHeld({ value: changes.reduce((value, change) => change(value), read), isLoading: false });
      },
      (thrown) => {
        if (abort.signal.aborted) return;
        changesMeanwhile.current = undefined;
        const error = asApiError(thrown);
        setHeld(({ value }) => ({ ...(value === undefined ? {} : { value }), error, isLoading: false }));
        if (PASSING.has(error.code)) reread(AGAIN_WITHIN_MS);
      },
    );
    return () => abort.abort();
  }, [client, epoch, turn, ...inputs]);

  useEffect(() => () => window.clearTimeout(timer.current), []);

  const update = useCallback((change: (value: T) => T) => {
    changesMeanwhile.current?.push(change);
    setHeld((before) => (before.value === undefined ? before : { ...before, value: change(before.value) }));
  }, []);

  return { value: held.value, error: held.error, isLoading: held.isLoading, reread, update };
}
