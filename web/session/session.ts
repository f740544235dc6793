// Shared objects of the signed-in dashboard: the client, the stream, and sign-out.
import { createContext } from 'preact';
import { useContext, useLayoutEffect, useState } from 'preact/hooks';
import type { ApiClient } from '../api/client.js';
import type { EventFeed, FeedState } from '../api/stream.js';

export interface Session {
  readonly client: ApiClient;
  readonly feed: EventFeed;
  readonly signOut: () => void;
}

export const SessionContext = createContext<Session | undefined>(undefined);

export function useSession(): Session {
  const session = useContext(SessionContext);
  if (session === undefined) throw new Error('Nobody is signed in.');
  return session;
}

/** The state of the stream; it follows changes. */
export function useFeedState(): FeedState {
  const { feed } = useSession();
  const [state, setState] = useState(feed.state);
  useLayoutEffect(() => {
    const update = () => setState(feed.state);
    update();
    return feed.onState(update);
  }, [feed]);
  return state;
}
