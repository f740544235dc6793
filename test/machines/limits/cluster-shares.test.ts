// A cluster's cap is shared in proportion, and the shares never exceed it.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clusterScale } from '../../../machines/limits/cluster-shares.js';
import { sharesOf } from '../oracle.js';

const kw = fc.double({ min: 0.001, max: 10_000, noNaN: true });
const membersKw = fc.array(kw, { minLength: 1, maxLength: 50 });
const sumOf = (limitsKw: readonly number[]) => limitsKw.reduce((sum, each) => sum + each, 0);

describe("A cluster's scale (section 2.8)", () => {
  it('is 1 without a cap, and where the members together stay within it', () => {
    fc.assert(fc.property(membersKw, (limitsKw) => clusterScale(null, sumOf(limitsKw)) === 1));
    fc.assert(
      fc.property(
        membersKw,
        kw,
        (limitsKw, roomKw) => clusterScale(sumOf(limitsKw) + roomKw, sumOf(limitsKw)) === 1,
      ),
    );
    expect(clusterScale(100, 100)).toBe(1);
  });

  it('keeps the members together within the cap, each in proportion to its limit', () => {
    fc.assert(
      fc.property(kw, membersKw, (capKw, limitsKw) => {
        const scale = clusterScale(capKw, sumOf(limitsKw));
        // Tolerance for the relative rounding error of one multiplication and one addition a member.
        expect(sumOf(limitsKw.map((each) => each * scale))).toBeLessThanOrEqual(capKw * (1 + 1e-12));
        expect(scale).toBeGreaterThan(0);
        expect(scale).toBeLessThanOrEqual(1);
        const expected = sharesOf(capKw, true, new Map(limitsKw.map((each, i) => [`${i}`, each])));
        for (const [i, each] of limitsKw.entries())
          expect(each * scale).toBeCloseTo(expected.get(`${i}`) ?? -1, 9);
      }),
      { numRuns: 500 },
    );
  });

  it('is 1 where there is nothing to share', () => {
    expect(clusterScale(40, 0)).toBe(1);
  });

  it('shares 60 kW among members set to 50, 30 and 20 kW as 30, 18 and 12 kW', () => {
    const scale = clusterScale(60, 100);
    expect(scale).toBe(0.6);
    expect([50, 30, 20].map((each) => each * scale)).toEqual([30, 18, 12]);
  });
});
