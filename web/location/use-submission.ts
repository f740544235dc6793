// State of a write: in progress, refused with the service's message, or accepted with its warnings.
import { useState } from 'preact/hooks';
import { type ApiError, asApiError } from '../api/api-error.js';
import type { ApiClient, Written } from '../api/client.js';
import { useSession } from '../session/session.js';

export interface Submission<T> {
  readonly isBusy: boolean;
  readonly error: ApiError | undefined;
  /** The answer to the write; undefined before. */
  readonly written: Written<T> | undefined;
  send(write: (client: ApiClient) => Promise<Written<T>>): Promise<void>;
}

export function useSubmission<T>(onWritten: (written: Written<T>) => void): Submission<T> {
  const { client } = useSession();
  const [state, setState] = useState<Omit<Submission<T>, 'send'>>({
    isBusy: false,
    error: undefined,
    written: undefined,
  });
  return {
    ...state,
    async send(write) {
      if (state.isBusy) return;
      setState({ isBusy: true, error: undefined, written: undefined });
      try {
        const written = await write(client);
        setState({ isBusy: false, error: undefined, written });
        onWritten(written);
      } catch (thrown) {
        setState({ isBusy: false, error: asApiError(thrown), written: undefined });
      }
    },
  };
}
