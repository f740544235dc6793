// Banner that warns of outdated data while the stream is lost, and announces its return.
import { useEffect, useRef } from 'preact/hooks';
import { useFeedState } from '../session/session.js';
import { announce } from '../ui/announce.js';

export function ConnectionBanner() {
  const { connection, reason, isRefused } = useFeedState();
  const wasLost = useRef(false);
  useEffect(() => {
    if (connection === 'live' && wasLost.current)
      announce('The connection is back, and everything was read again.');
    if (connection !== 'connecting') wasLost.current = connection === 'lost';
  }, [connection]);
  return (
    <div role="status" class="banner-place">
      {connection === 'lost' && (
        <p class="banner">
          <strong>{isRefused ? 'Not live.' : 'Connection lost.'}</strong> What you see may be old. {reason}{' '}
          Trying again…
        </p>
      )}
    </div>
  );
}
