// Remembers the entries used last, and takes memory only for those that are there.
import { LRUCache } from 'lru-cache';

/** Keeps the `most` entries used last. Of the library's two bounds, that of a number of entries sets memory aside for all of them. */
export function boundedCache<V extends {}>(most: number): LRUCache<string, V> {
  return new LRUCache({ maxSize: most, sizeCalculation: () => 1 });
}
