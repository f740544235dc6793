// Light or dark: as the system says, until the viewer chooses otherwise.
import { keep, kept } from '../kept.js';

export const THEME_KEY = 'headroom.theme';

export type Theme = 'system' | 'light' | 'dark';
const THEMES: readonly Theme[] = ['system', 'light', 'dark'];

export function chosenTheme(): Theme {
  const name = kept('localStorage', THEME_KEY);
  return THEMES.find((theme) => theme === name) ?? 'system';
}

/** Applies the theme that was chosen, or chooses `theme`. Canvases hear of it by the `themechange` event of `window`. */
export function applyTheme(theme = chosenTheme()): void {
  keep('localStorage', THEME_KEY, theme);
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  window.dispatchEvent(new Event('themechange'));
}
