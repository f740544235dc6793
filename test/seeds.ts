// How many random cases a test plays: all of them in the whole run, a quarter in the fast one.
import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** Above 0, at most 1; left out, 1. */
    readonly shareOfSeeds: number;
  }
}

/** 1, 2, 3 … as far as `most` in the whole run. */
export function* seedsUpTo(most: number): Generator<number> {
  const last = Math.ceil(most * (inject('shareOfSeeds') ?? 1));
  for (let seed = 1; seed <= last; seed++) yield seed;
}
