// What the page keeps in the browser. Where that is forbidden or full nothing is kept, and the page works all the same.
type Place = 'localStorage' | 'sessionStorage';

export function kept(place: Place, name: string): string | null {
  try {
    return window[place].getItem(name);
  } catch {
    return null;
  }
}

/** Keeps `text`, or forgets what was kept where it is null. */
export function keep(place: Place, name: string, text: string | null): void {
  try {
    if (text === null) window[place].removeItem(name);
    else window[place].setItem(name, text);
  } catch {
    // Then it is kept only as long as the page is open.
  }
}
