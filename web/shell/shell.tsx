// Frame of every page: navigation, state of the connection, and sign-out.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { hrefOf, type Route } from '../route.js';
import { useFeedState, useSession } from '../session/session.js';
import { announce } from '../ui/announce.js';
import { Button } from '../ui/button.js';
import { applyTheme, chosenTheme, type Theme } from './theme.js';

// Banner that warns of outdated data while the stream is lost, and announces its return.
function ConnectionBanner() {
  const { connection, reason, isRefused } = useFeedState();
  const wasLost = useRef(false);
  useEffect(() => {
    if (connection === 'live' && wasLost.current)
      announce('The connection is back, and all data were read again.');
    if (connection !== 'connecting') wasLost.current = connection === 'lost';
  }, [connection]);
  return (
    <div role="status" class="banner-place">
      {connection === 'lost' && (
        <p class="banner">
          <strong>{isRefused ? 'Not live.' : 'Connection lost.'}</strong> The data may be old. {reason} Trying
          again…
        </p>
      )}
    </div>
  );
}

const PAGES = [
  ['locations', 'Locations'],
  ['clusters', 'Clusters'],
  ['organization', 'Organization'],
  ['alarms', 'Alarms'],
  ['webhooks', 'Webhooks'],
  ['access', 'Access'],
] as const;

/** The navigation entry of each page. */
const LIST_OF: Readonly<Record<Route['page'], string>> = {
  locations: 'locations',
  location: 'locations',
  clusters: 'clusters',
  cluster: 'clusters',
  organization: 'organization',
  alarms: 'alarms',
  webhooks: 'webhooks',
  access: 'access',
  unknown: '',
};

export function Shell({ route, children }: { readonly route: Route; readonly children: ComponentChildren }) {
  const { signOut } = useSession();
  const { connection } = useFeedState();
  const main = useRef<HTMLElement>(null);
  const address = JSON.stringify(route);
  const isFirst = useRef(true);
  useEffect(() => {
    // As after a link to another document, a screen reader continues at the beginning of the new page.
    if (!isFirst.current) main.current?.focus({ preventScroll: true });
    isFirst.current = false;
    window.scrollTo(0, 0);
  }, [address]);
  return (
    <>
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        Skip to the content
      </button>
      <header class="top">
        <a class="brand" href={hrefOf('locations')}>
          Headroom
        </a>
        <nav aria-label="Pages">
          {PAGES.map(([page, name]) => (
            <a
              key={page}
              href={hrefOf(page)}
              aria-current={LIST_OF[route.page] === page ? 'page' : undefined}
            >
              {name}
            </a>
          ))}
        </nav>
        <span class={`link-state ${connection}`}>{CONNECTION_WORDS[connection]}</span>
        <a class="reference" href="docs/" title="Reference of the API">
          API
        </a>
        <ThemeChoice />
        <Button kind="plain" onClick={signOut}>
          Sign out
        </Button>
      </header>
      <ConnectionBanner />
      <main ref={main} tabIndex={-1}>
        {children}
      </main>
    </>
  );
}

const CONNECTION_WORDS = { live: 'Live', connecting: 'Connecting', lost: 'Not live' } as const;

const NEXT_THEME: Readonly<Record<Theme, Theme>> = { system: 'light', light: 'dark', dark: 'system' };

const THEME_WORDS: Readonly<Record<Theme, string>> = { system: 'Auto', light: 'Light', dark: 'Dark' };

function ThemeChoice() {
  const [theme, setTheme] = useState(chosenTheme);
  const choose = () => {
    const next = NEXT_THEME[theme];
    applyTheme(next);
    setTheme(next);
  };
  return (
    <Button kind="plain" onClick={choose} label={`Theme: ${THEME_WORDS[theme]}, change`}>
      <span class="wide-only">Theme: </span>
      {THEME_WORDS[theme]}
    </Button>
  );
}
