// Light or dark: as the system says, until the viewer chooses otherwise.
const NAME = 'headroom.theme';

export type Theme = 'system' | 'light' | 'dark';
const THEMES: readonly Theme[] = ['system', 'light', 'dark'];

export function chosenTheme(): Theme {
  const kept = localStorage.getItem(NAME);
  return THEMES.find((theme) => theme === kept) ?? 'system';
}

/** Applies the theme that was chosen, or chooses `theme`. Canvases hear of it by the `themechange` event of `window`. */
export function applyTheme(theme = chosenTheme()): void {
  localStorage.setItem(NAME, theme);
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  window.dispatchEvent(new Event('themechange'));
}
