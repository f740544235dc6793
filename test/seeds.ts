// The part of its cases that a test runs, by the setting `CASES`. The end of the run lists the parts.
import { inject, it, type TestOptions, TestRunner } from 'vitest';

/** A part of a test that ran: `played` of `of`. */
interface Part {
  readonly played: number;
  readonly of: number;
}

/** The part `nth` of `of` equal parts; 0 is the first. */
export interface PartOfCases {
  readonly nth: number;
  readonly of: number;
}

declare module 'vitest' {
  interface ProvidedContext {
    /** By default all cases. */
    readonly partOfCases: PartOfCases;
  }
  interface TaskMeta {
    /** The parts of the test, or of the list of cases that begins with it, if not all ran. */
    parts?: Partial<Record<'cases' | 'minutes', Part>>;
  }
}

function part(): PartOfCases {
  return inject('partOfCases') ?? { nth: 0, of: 1 };
}

function isInPart(place: number): boolean {
  const { nth, of } = part();
  return place % of === nth;
}

function partOf(unit: 'cases' | 'minutes', most: number, least: number): number {
  const played = Math.min(most, Math.max(least, Math.ceil(most / part().of)));
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

/** The same, but CI plays all: a usual run alone plays a part. */
export function casesInCi(most: number): number {
  return casesOf(most, part().of <= MOST_PARTS_IN_CI ? most : 1);
}

/** Number of `most` simulated minutes for the running test, at least `least`. */
export function minutesOf(most: number, least: number): number {
  return partOf('minutes', most, least);
}

/** The seeds of this run among 1, 2, 3 … `most`. */
export function* seedsUpTo(most: number): Generator<number> {
  const count = casesOf(most);
  const first = Math.min(part().nth * count, most - count);
  for (let seed = first + 1; seed <= first + count; seed++) yield seed;
}

/** A usual run plays a tenth of the cases, and CI a larger part. */
const MOST_PARTS_IN_CI = 3;

/** Options for `it`: a long test without parts, which a usual run skips and lists as partly run. */
export function onlyInCi(): TestOptions {
  return part().of <= MOST_PARTS_IN_CI
    ? {}
    : { skip: true, meta: { parts: { cases: { played: 0, of: 1 } } } };
}

/** A list of cases; `more` run in parts. */
export interface Cases<T> {
  readonly always: readonly T[];
  readonly more: readonly T[];
}

/**
 * The cases of this run. Of a plain list it plays a part. A usual run has no `more`: its time is for the most telling
 * cases.
 */
export function played<T>(cases: Cases<T> | readonly T[]): readonly T[] {
  if (!('always' in cases)) return cases.filter((_, i) => isInPart(i));
  const { always, more } = cases;
  return part().of <= MOST_PARTS_IN_CI ? [...always, ...more.filter((_, i) => isInPart(i))] : always;
}

/** Adds a test for each case of this run, named as by `it.each`. */
export function testCases<T>(
  cases: Cases<T> | readonly T[],
  name: string,
  play: (each: T) => Promise<void>,
): void {
  const [first, ...others] = played(cases).map((each) => [each] as const);
  const of = 'always' in cases ? cases.always.length + cases.more.length : cases.length;
  const counted = { played: played(cases).length, of };
  const meta = counted.played < counted.of ? { parts: { cases: counted } } : {};
  it.each(first === undefined ? [] : [first])(name, { meta }, play);
  it.each(others)(name, play);
}
