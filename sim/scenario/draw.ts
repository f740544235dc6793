// Random numbers from a seed and a purpose. Each purpose has a stream of its own, so that one draw does not change
// another.
import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import { mersenne } from 'pure-rand/generator/mersenne';

/** Largest seed that a scenario or a command accepts. */
export const LARGEST_SEED = 2 ** 31 - 1;

/** Both ends included. */
export type Range = readonly [from: number, to: number];

export interface Draw {
  /** From 0 to 1, 1 excluded. */
  share(): number;
  between(range: Range): number;
  /** A whole number of the range. */
  whole(range: Range): number;
  /** One of `items`, with a probability proportional to its weight; undefined for an empty list. */
  weighted<T>(items: readonly T[], weightOf: (item: T) => number): T | undefined;
}

function hash(text: string): number {
  let mixed = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) mixed = Math.imul(mixed ^ text.charCodeAt(i), 0x01000193);
  // Mixes the hash further: texts that differ only in their last letter must not give similar numbers.
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  return mixed ^ (mixed >>> 13);
}

/** A 32-bit seed of its own for `purpose`. */
export function seedFor(seed: number, ...purpose: readonly (string | number)[]): number {
  return hash([seed, ...purpose].join('\n'));
}

export function createDraw(seed: number, ...purpose: readonly (string | number)[]): Draw {
  const random = mersenne(seedFor(seed, ...purpose));
  const share = () => uniformFloat64(random);
  return {
    share,
    between: ([from, to]) => from + (to - from) * share(),
    whole: ([from, to]) => Math.floor(from + (to - from + 1) * share()),
    weighted(items, weightOf) {
      const total = items.reduce((sum, item) => sum + weightOf(item), 0);
      let left = total * share();
      return items.find((item) => {
        left -= weightOf(item);
        return left < 0;
      });
    },
  };
}
