// Shows the description of the API with Swagger UI in the dashboard's theme. Adds accessible names where Swagger UI has
// none.
import { chosenTheme, THEME_KEY } from '../shell/theme.js';

type Component = (properties: { readonly text?: string }) => unknown;

interface SwaggerSystem {
  readonly React: { createElement(tag: string, properties: null, text: string | undefined): unknown };
}

/** Replaces a component of Swagger UI. */
type Wrapper = (original: Component, system: SwaggerSystem) => Component;

declare const SwaggerUIBundle: (options: Readonly<Record<string, unknown>>) => void;

const PLACE = 'api';
const SYSTEM_DARK = window.matchMedia('(prefers-color-scheme: dark)');

/** Accessible names of elements without a name, or with a name that differs from their text. */
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
  // The page has only one server, which is the service itself.
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
    // Without this, Swagger UI would send the description to an external validator.
    validatorUrl: null,
    // The contrast of numbers in the default theme is too low.
    syntaxHighlight: { theme: 'tomorrow-night' },
    plugins: [{ wrapComponents: WRAPPERS }],
  });
}
