// The share of cases that a test runs: all with ALL_CASES=1, fewer otherwise. The end of the run lists the shares.
import { inject, it, type TestOptions, TestRunner } from 'vitest';

/** A part of a test that ran: `played` of `of`. */
interface Part {
  readonly played: number;
  readonly of: number;
}

declare module 'vitest' {
  interface ProvidedContext {
    /** Above 0, at most 1; by default 1. */
    readonly shareOfCases: number;
  }
  interface TaskMeta {
    /** The parts of the test, or of the list of cases that begins with it, if not all ran. */
    parts?: Partial<Record<'cases' | 'minutes', Part>>;
  }
}

function shareOfCases(): number {
  return inject('shareOfCases') ?? 1;
}

function partOf(unit: 'cases' | 'minutes', most: number, least: number): number {
  const played = Math.min(most, Math.max(least, Math.ceil(most * shareOfCases())));
  const meta = TestRunner.getCurrentTest()?.meta;
  if (meta !== undefined && played < most) {
    const before = meta.parts?.[unit] ?? { played: 0, of: 0 };
    meta.parts = { ...meta.parts, [unit]: { played: before.played + played, of: before.of + most } };
  }
  return played;
}

/** Number of `most` cases for the running test, at least `least`. */
export function casesOf(most: number, least = 1): number {
  return partOf('cases', most, least);
}

/** Number of `most` simulated minutes for the running test, at least `least`. */
export function minutesOf(most: number, least: number): number {
  return partOf('minutes', most, least);
}

/** 1, 2, 3 … up to `most` if all cases run. */
export function* seedsUpTo(most: number): Generator<number> {
  const last = casesOf(most);
  for (let seed = 1; seed <= last; seed++) yield seed;
}

/** Options for `it`: runs only with all cases. Otherwise the end of the run lists the test as partly run. */
export function onlyWithAllCases(): TestOptions {
  return shareOfCases() === 1 ? {} : { skip: true, meta: { parts: { cases: { played: 0, of: 1 } } } };
}

/** A list of cases; `more` run only with all cases. */
export interface Cases<T> {
  readonly always: readonly T[];
  readonly more: readonly T[];
}

/** The cases of this run. */
export function played<T>({ always, more }: Cases<T>): readonly T[] {
  return shareOfCases() === 1 ? [...always, ...more] : always;
}

/** Adds a test for each case of this run, named as by `it.each`. */
export function testCases<T>(cases: Cases<T>, name: string, play: (each: T) => Promise<void>): void {
  const [first, ...others] = played(cases).map((each) => [each] as const);
  const counted = { played: played(cases).length, of: cases.always.length + cases.more.length };
  const meta = counted.played < counted.of ? { parts: { cases: counted } } : {};
  it.each(first === undefined ? [] : [first])(name, { meta }, play);
  it.each(others)(name, play);
}

/** The cases that always run, evenly spread by their share, and the others. */
export function spread<T>(cases: readonly T[]): Cases<T> {
  const every = Math.round(1 / shareOfCases());
  return {
    always: cases.filter((_, i) => i % every === 0),
    more: cases.filter((_, i) => i % every !== 0),
  };
}
