// What the browser keeps for the page: nothing where its owner forbids that or its room is used up, and the page works all the same.
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
    // It lasts as long as the page then.
  }
}
