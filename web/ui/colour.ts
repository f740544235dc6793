// Colours of the style sheet for canvases, which cannot read them by themselves.

/**
 * Current value of the colour `--name`. It changes with the event `themechange` of `window` and with the system's
 * scheme.
 */
export function colourOf(name: string): string {
  const probe = document.createElement('i');
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

/** Calls `listener` after each change of the colours. Returns a function that stops this. */
export function onColours(listener: () => void): () => void {
  const scheme = matchMedia('(prefers-color-scheme: dark)');
  scheme.addEventListener('change', listener);
  window.addEventListener('themechange', listener);
  return () => {
    scheme.removeEventListener('change', listener);
    window.removeEventListener('themechange', listener);
  };
}
