// Light or dark theme: follows the system until the viewer chooses one.
import { keep, kept } from '../kept.js';

export const THEME_KEY = 'headroom.theme';

export type Theme = 'system' | 'light' | 'dark';
const THEMES: readonly Theme[] = ['system', 'light', 'dark'];

export function chosenTheme(): Theme {
  const name = kept('localStorage', THEME_KEY);
  return THEMES.find((theme) => theme === name) ?? 'system';
}

/** Applies the stored theme, or stores and applies `theme`. The event `themechange` of `window` notifies canvases. */
export function applyTheme(theme = chosenTheme()): void {
  keep('localStorage', THEME_KEY, theme);
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  window.dispatchEvent(new Event('themechange'));
}
