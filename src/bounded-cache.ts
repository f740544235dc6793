// A cache of the entries used last. It takes memory only for existing entries.
import { LRUCache } from 'lru-cache';

/**
 * Keeps the `most` entries used last. `maxSize` is used because the library's `max` reserves memory for all entries.
 */
export function boundedCache<V extends {}>(most: number): LRUCache<string, V> {
  return new LRUCache({ maxSize: most, sizeCalculation: () => 1 });
}
