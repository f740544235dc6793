// Shares as sent to chargers (R9): raises are at least one ampere, and the step leaves no power unused.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { STEP_TENTHS_A, type SteadyClaim, steadyShares } from '../../machines/power/steady-shares.js';
import { casesOf } from '../seeds.js';

const SINGLE_PHASE_MW = 20_800;
const THREE_PHASE_MW = 69_000;

const someClaims = fc.array(
  fc
    .record({
      fairTenthsA: fc.integer({ min: 60, max: 320 }),
      offTenthsA: fc.integer({ min: -25, max: 25 }),
      moreTenthsA: fc.integer({ min: 0, max: 60 }),
      wasPaused: fc.boolean(),
      milliwattsPerTenth: fc.constantFrom(SINGLE_PHASE_MW, THREE_PHASE_MW),
    })
    .map(({ fairTenthsA, offTenthsA, moreTenthsA, wasPaused, milliwattsPerTenth }): SteadyClaim => {
      const mostTenthsA = Math.min(fairTenthsA + moreTenthsA, 320);
      const sentTenthsA = wasPaused ? 0 : Math.max(60, Math.min(fairTenthsA + offTenthsA, 320));
      return { sentTenthsA, fairTenthsA, mostTenthsA, maxTenthsA: 320, milliwattsPerTenth };
    }),
  { maxLength: 12 },
);
const someCases = fc.tuple(someClaims, fc.integer({ min: 0, max: 5_000 }));

/** Calls `each` with claims, the remaining power for them in W, and the resulting shares. */
function check(each: (claims: readonly SteadyClaim[], leftW: number, shares: readonly number[]) => void) {
  fc.assert(
    fc.property(someCases, ([claims, leftW]) => {
      each(claims, leftW, steadyShares(claims, leftW));
    }),
    { numRuns: casesOf(3_000) },
  );
}

function overW(claims: readonly SteadyClaim[], shares: readonly number[]): number {
  return claims.reduce(
    (sum, { fairTenthsA, milliwattsPerTenth }, i) =>
      sum + (((shares[i] ?? 0) - fairTenthsA) * milliwattsPerTenth) / 1000,
    0,
  );
}

/** Equal claims, each with a sent limit of `sentA` and a fair share of `fairA`. */
function alike(count: number, sentA: number, fairA: number): readonly SteadyClaim[] {
  const claim = { sentTenthsA: 10 * sentA, fairTenthsA: 10 * fairA, mostTenthsA: 320, maxTenthsA: 320 };
  return Array.from({ length: count }, () => ({ ...claim, milliwattsPerTenth: SINGLE_PHASE_MW }));
}

describe('Shares that are sent', () => {
  it('are together no more than fair shares and the unused rest', () => {
    check((claims, leftW, shares) => expect(overW(claims, shares)).toBeLessThanOrEqual(leftW + 1e-6));
  });

  it('are less than an ampere from the fair ones, and never more than a car can use', () => {
    check((claims, _, shares) => {
      for (const [i, { sentTenthsA, fairTenthsA, mostTenthsA }] of claims.entries()) {
        expect(Math.abs((shares[i] ?? 0) - fairTenthsA)).toBeLessThan(STEP_TENTHS_A);
        expect(shares[i]).toBeLessThanOrEqual(Math.max(mostTenthsA, fairTenthsA));
        expect(shares[i]).toBeGreaterThanOrEqual(Math.min(60, sentTenthsA || 60));
      }
    });
  });

  it('are raised by an ampere or not at all, unless to the maximum of the hardware', () => {
    check((claims, _, shares) => {
      for (const [i, { sentTenthsA, maxTenthsA }] of claims.entries()) {
        const share = shares[i] ?? 0;
        if (share > sentTenthsA && share !== maxTenthsA)
          expect(share).toBeGreaterThanOrEqual(sentTenthsA + STEP_TENTHS_A);
      }
    });
  });

  it('leave unused less than a raise of any claim below its fair share', () => {
    check((claims, leftW, shares) => {
      const leftMw = 1000 * (leftW - overW(claims, shares));
      for (const [i, { sentTenthsA, fairTenthsA, mostTenthsA, milliwattsPerTenth }] of claims.entries()) {
        const raised = sentTenthsA + STEP_TENTHS_A;
        if (shares[i] !== sentTenthsA || sentTenthsA >= fairTenthsA || raised > mostTenthsA) continue;
        expect(leftMw).toBeLessThan(STEP_TENTHS_A * milliwattsPerTenth + 1e-3);
      }
    });
  });

  it('stay as they are once they were sent', () => {
    check((claims, leftW, shares) => {
      const sent = claims.map((claim, i) => ({ ...claim, sentTenthsA: shares[i] ?? 0 }));
      const again = steadyShares(sent, leftW);
      // Power too small for one raise may now fit another one. No connector is lowered for that.
      for (const [i, share] of again.entries()) expect(share).toBeGreaterThanOrEqual(shares[i] ?? 0);
    });
  });

  it('give some an ampere where there is too little to give it to all', () => {
    // Ten cars at 9.6 A are due 10 A each. Three of them can have 1.3 A more, and the others nothing.
    const shares = steadyShares(alike(10, 9.6, 10), 0);
    expect(shares).toEqual([109, 109, 109, 96, 96, 96, 96, 96, 96, 96]);
  });

  it('lower only claims that must shrink when one more comes', () => {
    const shares = steadyShares([...alike(6, 9.6, 9.5), ...alike(4, 10.6, 9.5), ...alike(1, 0, 9.5)], 0);
    expect(shares.slice(0, 6)).toEqual([95, 95, 95, 95, 95, 95]);
    expect(shares.reduce((sum, share) => sum + share, 0)).toBeLessThanOrEqual(11 * 95);
  });
});
