// Conversions round to the safe side: never above the limit, never below the 6 A floor.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type ConnectorRating,
  currentAOf,
  floorKwOf,
  MINIMUM_CURRENT_A,
  wattsOf,
} from '../../machines/units.js';

const rating: fc.Arbitrary<ConnectorRating> = fc.record({
  phases: fc.constantFrom(1 as const, 3 as const),
  voltageV: fc.oneof(
    fc.constantFrom(120, 208, 230, 240, 277),
    fc.double({ min: 100, max: 300, noNaN: true }),
  ),
  maxCurrentA: fc.oneof(
    fc.constantFrom(6, 16, 32, 63),
    fc.integer({ min: 60, max: 800 }).map((tenths) => tenths / 10),
  ),
});
const limitKw = fc.double({ min: 0, max: 600, noNaN: true });

describe('Current and power of a connector (section 8)', () => {
  it.each([
    [{ phases: 3, voltageV: 230, maxCurrentA: 32 }, 4.14],
    [{ phases: 1, voltageV: 230, maxCurrentA: 32 }, 1.38],
    [{ phases: 1, voltageV: 120, maxCurrentA: 16 }, 0.72],
  ] as const)('the floor of 6 A of %o is %f kW', (each, kw) => {
    expect(floorKwOf(each)).toBeCloseTo(kw, 12);
  });

  it('is never quantised below 6 A where the limit leaves room for the floor', () => {
    fc.assert(
      fc.property(rating, limitKw, (each, aboveKw) => {
        expect(currentAOf(floorKwOf(each), each)).toBe(MINIMUM_CURRENT_A);
        expect(currentAOf(floorKwOf(each) + aboveKw, each)).toBeGreaterThanOrEqual(MINIMUM_CURRENT_A);
      }),
      { numRuns: 1_000 },
    );
  });

  it('quantised down to 0.1 A never exceeds the limit, and wastes less than 0.1 A', () => {
    fc.assert(
      fc.property(rating, limitKw, (each, kw) => {
        const currentA = currentAOf(kw, each);
        const exactA = (kw * 1_000) / (each.voltageV * each.phases);
        // A tenth that floating point cannot tell from the limit counts as within it.
        expect(currentA).toBeLessThanOrEqual(exactA + 1e-9);
        if (currentA < each.maxCurrentA) expect(currentA).toBeGreaterThan(exactA - 0.1 - 1e-9);
        expect(Math.abs(currentA * 10 - Math.round(currentA * 10))).toBeLessThan(1e-9);
      }),
      { numRuns: 1_000 },
    );
  });

  it('never exceeds what the connector can carry, and grows with the limit', () => {
    fc.assert(
      fc.property(rating, limitKw, limitKw, (each, oneKw, otherKw) => {
        const [lowA, highA] = [
          currentAOf(Math.min(oneKw, otherKw), each),
          currentAOf(Math.max(oneKw, otherKw), each),
        ];
        expect(lowA).toBeLessThanOrEqual(highA);
        expect(highA).toBeLessThanOrEqual(each.maxCurrentA);
      }),
    );
  });

  it('gives back whole amperes when they are turned into power and back', () => {
    fc.assert(
      fc.property(rating, fc.integer({ min: 0, max: 6 }), (each, amperes) => {
        const kw = (amperes * each.voltageV * each.phases) / 1_000;
        expect(currentAOf(kw, each)).toBe(amperes);
        expect(wattsOf(amperes, each)).toBe(Math.round(kw * 1_000));
      }),
    );
  });
});
