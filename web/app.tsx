// Shows the page of the address to a signed-in user, and otherwise the sign-in.
import { useLayoutEffect, useMemo, useState } from 'preact/hooks';
import { createApiClient } from './api/client.js';
import { EventFeed } from './api/stream.js';
import { PageOf } from './page-of.js';
import { useRoute } from './route.js';
import { type Credential, forgetCredential, keepCredential, keptCredential } from './session/credential.js';
import { SessionContext } from './session/session.js';
import { SignIn } from './session/sign-in.js';
import { Shell } from './shell/shell.js';
import { Announcer } from './ui/announce.js';

export function App() {
  const [credential, setCredential] = useState(keptCredential);
  const [reason, setReason] = useState<string>();

  function begin(next: Credential): void {
    keepCredential(next);
    setReason(undefined);
    setCredential(next);
  }

  function end(why?: string): void {
    forgetCredential();
    setReason(why);
    setCredential(undefined);
  }

  return (
    <>
      {credential === undefined ? (
        <SignIn reason={reason} onSignIn={begin} />
      ) : (
        <SignedIn credential={credential} onEnd={end} />
      )}
      <Announcer />
    </>
  );
}

function SignedIn({
  credential,
  onEnd,
}: {
  readonly credential: Credential;
  readonly onEnd: (why?: string) => void;
}) {
  const route = useRoute();
  const session = useMemo(() => {
    const client = createApiClient({ credential, onUnauthorized: onEnd });
    return { client, feed: new EventFeed(client), signOut: () => onEnd() };
  }, [credential]);
  // Before the first paint, because every read waits for the stream.
  useLayoutEffect(() => {
    session.feed.open();
    return () => session.feed.close();
  }, [session]);
  return (
    <SessionContext.Provider value={session}>
      <Shell route={route}>
        <PageOf key={JSON.stringify(route)} route={route} />
      </Shell>
    </SessionContext.Provider>
  );
}
