// Colours of the style sheet for canvases, which cannot read them by themselves.

/** The colour `--name` as it is now, in light or dark. Listen to `themechange` of `window` and to the system's scheme. */
export function colourOf(name: string): string {
  const probe = document.createElement('i');
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

/** Calls `listener` whenever the colours have changed. Returns the function that ends it. */
export function onColours(listener: () => void): () => void {
  const scheme = matchMedia('(prefers-color-scheme: dark)');
  scheme.addEventListener('change', listener);
  window.addEventListener('themechange', listener);
  return () => {
    scheme.removeEventListener('change', listener);
    window.removeEventListener('themechange', listener);
  };
}
