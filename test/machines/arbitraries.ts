// Random profiles that meet: few instants, few limits and few priorities, so that ties and adjacency are common.
import fc from 'fast-check';
import type { LimitProfile } from '../../machines/limits/profile-stack.js';

/** Start of a case on the time axis. The rules must not depend on it. */
export const eraMs: fc.Arbitrary<number> = fc.constantFrom(
  0,
  Date.UTC(2026, 5, 1),
  Date.UTC(2066, 0, 1),
  Date.UTC(9999, 11, 30),
);

export const limitKw: fc.Arbitrary<number> = fc.oneof(
  fc.constantFrom(10, 20, 30),
  fc.double({ min: 0.001, max: 500, noNaN: true }),
);

export const priority: fc.Arbitrary<number> = fc.oneof(
  fc.constantFrom(0, 5, 10),
  fc.integer({ min: 0, max: 10 }),
);

/** A window of 1 to 15 ms that begins at most `withinMs` after 0, relative to the era. */
export function profileWithin(withinMs: number): fc.Arbitrary<LimitProfile> {
  return fc
    .record({
      priority,
      limitKw,
      startsAtMs: fc.integer({ min: 0, max: withinMs }),
      lengthMs: fc.integer({ min: 1, max: 15 }),
    })
    .map(({ lengthMs, ...profile }) => ({ ...profile, endsAtMs: profile.startsAtMs + lengthMs }));
}

export function moved<P extends { startsAtMs: number; endsAtMs: number }>(profile: P, byMs: number): P {
  return { ...profile, startsAtMs: profile.startsAtMs + byMs, endsAtMs: profile.endsAtMs + byMs };
}
