// Random days of a location and its connectors, against an oracle that holds only the list of submissions.
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { casesOf } from '../seeds.js';
import { eraMs, limitKw, moved, profileWithin } from './arbitraries.js';
import { CONNECTORS, LOCATION, SiteRig } from './site-rig.js';

const target = fc.constantFrom(LOCATION, ...CONNECTORS);

/** One random event. Windows begin between 15 ms ago and 25 ms from now. */
function stepWith(passMs: fc.Arbitrary<number>) {
  const submission = fc.record({ target, profile: profileWithin(40) });
  return fc.oneof(
    passMs.map((ms) => (site: SiteRig) => site.pass(ms)),
    fc.integer({ min: 0, max: 20 }).map((ms) => (site: SiteRig) => site.passPunctually(ms)),
    fc.constant((site: SiteRig) => site.reachBoundary()),
    submission.map(
      ({ target, profile }) =>
        (site: SiteRig) =>
          site.submit(target, moved(profile, site.nowMs - 15)),
    ),
    limitKw.map((kw) => (site: SiteRig) => site.setPermanentLimit(kw)),
    fc.tuple(fc.constantFrom('c1', 'c2'), fc.option(limitKw, { nil: undefined })).map(
      ([clusterId, kw]) =>
        (site: SiteRig) =>
          site.setShare(clusterId, kw),
    ),
    fc
      .tuple(
        fc.constantFrom(...CONNECTORS, 'unknown/1'),
        fc.constantFrom('charging.allowed' as const, 'charging.paused' as const),
      )
      .map(
        ([key, type]) =>
          (site: SiteRig) =>
            site.forwardToConnector(key, { type, nowMs: site.nowMs }),
      ),
  );
}

const start = fc.record({
  nowMs: eraMs.map((era) => era + 100),
  permanentLimitKw: limitKw,
  connectionLimitKw: fc.option(limitKw, { nil: undefined }),
  rows: fc.array(fc.record({ target, profile: profileWithin(40) }), { maxLength: 8 }),
});

function holdsFor(passMs: fc.Arbitrary<number>, numRuns: number): void {
  fc.assert(
    fc.property(start, fc.array(stepWith(passMs), { maxLength: 30 }), (given, steps) => {
      const rows = given.rows.map(({ target, profile }) => ({
        target,
        profile: moved(profile, given.nowMs - 20),
      }));
      const site = new SiteRig({ ...given, rows });
      for (const step of steps) step(site);
      site.passEverything();
    }),
    { numRuns: casesOf(numRuns) },
  );
}

// XState warns of events for stopped actors.
beforeEach(() => {
  vi.spyOn(console, 'warn').mockImplementation(() => {});
});
afterEach(() => {
  expect(console.warn).not.toHaveBeenCalled();
  vi.restoreAllMocks();
});

describe('With any submissions to a location and its connectors, and any times of boundaries (sections 1 and 3.1)', () => {
  it('limits, locks, crossings and actors agree with the list of submissions', () => {
    holdsFor(fc.integer({ min: 0, max: 15 }), 150);
  });

  it('limits and locks are so even where the wall clock steps back a little, unnoticed', () => {
    holdsFor(fc.integer({ min: -49, max: 15 }), 100);
  });
});
