// The title of a page, so that tabs, bookmarks and the history can be told apart.
import { useEffect } from 'preact/hooks';

/** Puts `name` in front of the product's name; undefined while it is not known yet. */
export function useTitle(name: string | undefined): void {
  useEffect(() => {
    document.title = name === undefined ? 'Headroom' : `${name} – Headroom`;
  }, [name]);
}
