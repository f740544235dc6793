// Shows the description of the API with Swagger UI, in the dashboard's theme, and corrects parts that Swagger UI leaves without a name.
import { chosenTheme, THEME_KEY } from '../shell/theme.js';

type Component = (properties: { readonly text?: string }) => unknown;

interface SwaggerSystem {
  readonly React: { createElement(tag: string, properties: null, text: string | undefined): unknown };
}

/** A component of the page, made from the one that Swagger UI brings. */
type Wrapper = (original: Component, system: SwaggerSystem) => Component;

declare const SwaggerUIBundle: (options: Readonly<Record<string, unknown>>) => void;

const PLACE = 'api';
const SYSTEM_DARK = window.matchMedia('(prefers-color-scheme: dark)');

/** Of parts that have no name, or another than the text they show. */
const NAMES: Readonly<Record<string, string>> = {
  'textarea.body-param__text': 'Request body',
  'button.close-modal': 'Close',
  '.auth-btn-wrapper button.authorize': 'Authorize',
};

function followTheme(): void {
  const theme = chosenTheme();
  const isDark = theme === 'system' ? SYSTEM_DARK.matches : theme === 'dark';
  document.documentElement.classList.toggle('dark-mode', isDark);
}

function nameParts(): void {
  for (const [selector, name] of Object.entries(NAMES))
    for (const part of document.querySelectorAll(`${selector}:not([aria-label="${name}"])`))
      part.setAttribute('aria-label', name);
}

const WRAPPERS: Readonly<Record<string, Wrapper>> = {
  // A link inside the button that opens an operation cannot be reached on its own.
  DeepLink:
    (_, { React }) =>
    ({ text }) =>
      React.createElement('span', null, text),
  // The page has one server: the service that serves it.
  ServersContainer: () => () => null,
};

followTheme();
SYSTEM_DARK.addEventListener('change', followTheme);
// The dashboard in another tab chose a theme.
window.addEventListener('storage', ({ key }) => {
  if (key === THEME_KEY) followTheme();
});

const place = document.getElementById(PLACE);
if (place !== null) {
  new MutationObserver(nameParts).observe(place, { childList: true, subtree: true });
  SwaggerUIBundle({
    url: place.dataset.url,
    domNode: place,
    deepLinking: true,
    // The description is shown to nobody else.
    validatorUrl: null,
    // The numbers of the theme that is used otherwise have too little contrast.
    syntaxHighlight: { theme: 'tomorrow-night' },
    plugins: [{ wrapComponents: WRAPPERS }],
  });
}
