// How many of its cases a test plays: every one with ALL_CASES=1, a share of them otherwise; the end of the run says which.
import { inject, it, type TestOptions, TestRunner } from 'vitest';

/** Of what was to be played in part: `played`, and how much there is. */
interface Part {
  readonly played: number;
  readonly of: number;
}

declare module 'vitest' {
  interface ProvidedContext {
    /** Above 0, at most 1; left out, 1. */
    readonly shareOfCases: number;
  }
  interface TaskMeta {
    /** What the test, or the list of cases that begins with it, played where not all. */
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

/** How many of `most` cases the running test plays, which is never less than `least`. */
export function casesOf(most: number, least = 1): number {
  return partOf('cases', most, least);
}

/** How many of `most` simulated minutes the running test plays, which is never less than `least`. */
export function minutesOf(most: number, least: number): number {
  return partOf('minutes', most, least);
}

/** 1, 2, 3 … as far as `most` where every case is played. */
export function* seedsUpTo(most: number): Generator<number> {
  const last = casesOf(most);
  for (let seed = 1; seed <= last; seed++) yield seed;
}

/** Options for `it`: played only where every case is; elsewhere the end of the run counts it among what was played in part. */
export function onlyWithAllCases(): TestOptions {
  return shareOfCases() === 1 ? {} : { skip: true, meta: { parts: { cases: { played: 0, of: 1 } } } };
}

/** A list of cases, of which `more` are played only where all are. */
export interface Cases<T> {
  readonly always: readonly T[];
  readonly more: readonly T[];
}

/** Those that this run plays. */
export function played<T>({ always, more }: Cases<T>): readonly T[] {
  return shareOfCases() === 1 ? [...always, ...more] : always;
}

/** Adds a test for each case that this run plays, named as by `it.each`. */
export function testCases<T>(cases: Cases<T>, name: string, play: (each: T) => Promise<void>): void {
  const [first, ...others] = played(cases).map((each) => [each] as const);
  const counted = { played: played(cases).length, of: cases.always.length + cases.more.length };
  const meta = counted.played < counted.of ? { parts: { cases: counted } } : {};
  it.each(first === undefined ? [] : [first])(name, { meta }, play);
  it.each(others)(name, play);
}

/** The cases as they are played always, in their share of all and evenly spread, and the others. */
export function spread<T>(cases: readonly T[]): Cases<T> {
  const every = Math.round(1 / shareOfCases());
  return {
    always: cases.filter((_, i) => i % every === 0),
    more: cases.filter((_, i) => i % every !== 0),
  };
}
