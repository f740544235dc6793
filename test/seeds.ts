// How many random cases a test plays: every one with ALL_CASES=1, a share of them otherwise; the end of the run says which.
import { inject, it, type TestOptions, TestRunner } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** Above 0, at most 1; left out, 1. */
    readonly shareOfCases: number;
  }
  interface TaskMeta {
    /** How many of its random cases a test played, where not all. */
    cases?: { readonly played: number; readonly of: number };
    /** The test is one random case of many, and left out of this run. */
    isCaseLeftOut?: boolean;
  }
}

function shareOfCases(): number {
  return inject('shareOfCases') ?? 1;
}

/** How many of `most` random cases the running test plays, which is never less than `least`. */
export function casesOf(most: number, least = 1): number {
  const played = Math.min(most, Math.max(least, Math.ceil(most * shareOfCases())));
  const meta = TestRunner.getCurrentTest()?.meta;
  if (meta !== undefined && played < most)
    meta.cases = { played: (meta.cases?.played ?? 0) + played, of: (meta.cases?.of ?? 0) + most };
  return played;
}

/** 1, 2, 3 … as far as `most` where every case is played. */
export function* seedsUpTo(most: number): Generator<number> {
  const last = casesOf(most);
  for (let seed = 1; seed <= last; seed++) yield seed;
}

/** Adds a test for each seed, named with `%i`: those of `always`, and where every case is played those of `more`. */
export function testSeeds(
  { always, more }: { readonly always: readonly number[]; readonly more: readonly number[] },
  name: string,
  play: (seed: number) => Promise<void>,
): void {
  const leftOut: TestOptions = { skip: true, meta: { isCaseLeftOut: true } };
  it.each(always)(name, play);
  it.each(more)(name, shareOfCases() < 1 ? leftOut : {}, play);
}
