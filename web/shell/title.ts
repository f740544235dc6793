// Sets the title of a page, which distinguishes tabs, bookmarks and entries of the history.
import { useEffect } from 'preact/hooks';

/** Puts `name` before the product's name; undefined as long as the name is unknown. */
export function useTitle(name: string | undefined): void {
  useEffect(() => {
    document.title = name === undefined ? 'Headroom' : `${name} – Headroom`;
  }, [name]);
}
