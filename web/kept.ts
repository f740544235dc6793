// Data that the page stores in the browser. If storage is forbidden or full, the page works without it.
type Place = 'localStorage' | 'sessionStorage';

export function kept(place: Place, name: string): string | null {
  try {
    return window[place].getItem(name);
  } catch {
    return null;
  }
}

/** Stores `text`; null removes the stored text. */
export function keep(place: Place, name: string, text: string | null): void {
  try {
    if (text === null) window[place].removeItem(name);
    else window[place].setItem(name, text);
  } catch {
    // The text then lasts only as long as the page is open.
  }
}
