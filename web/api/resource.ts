// Data of the service for a page: read after the stream opens, and again after each reconnect.
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useFeedState, useSession } from '../session/session.js';
import { type ApiError, asApiError } from './api-error.js';
import type { ApiClient } from './client.js';

export interface Resource<T> {
  /** The newest value; kept during another read, and after a failed one. */
  readonly value: T | undefined;
  /** Error of the newest read; undefined after a successful one. */
  readonly error: ApiError | undefined;
  readonly isLoading: boolean;
  /** Reads again within `withinMs`; several calls cause one read. */
  reread(withinMs?: number): void;
  /**
   * Changes the value by the content of an event. A change during a read also applies to the result of this read.
   * Therefore `change` may set values but must not count.
   */
  update(change: (value: T) => T): void;
}

/** After an error that may be temporary, the value is read again. */
const PASSING: ReadonlySet<string> = new Set([
  'UNREACHABLE',
  'UNREADABLE',
  'SERVICE_UNAVAILABLE',
  'RATE_LIMITED',
]);
const AGAIN_WITHIN_MS = 3_000;

/** Calls `load` after each change of one of `inputs`. */
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

  // A layout effect: an ordinary one would start the read only after the page was drawn without data.
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
