// Conversions round to the safe side: never above a limit, never thinking power smaller than it is.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type ConnectorRating,
  MINIMUM_CURRENT_A,
  MINIMUM_TENTHS_A,
  milliwattsPerTenthA,
  tenthsAOf,
  tenthsWithin,
  wattsOf,
  wattsOfLimit,
  wattsOfTenths,
} from '../../machines/values/units.js';

const phases = fc.constantFrom(1 as const, 3 as const);
const voltageV = fc.integer({ min: 90, max: 400 });
const tenthsA = fc.integer({ min: 0, max: 10_000 });
const limitW = fc.oneof(fc.integer({ min: 0, max: 100_000 }), fc.integer({ min: 0, max: 10_000_000 }));

describe('Current and power of a connector (section 8)', () => {
  it.each([
    [{ phases: 3, voltageV: 230, maxCurrentA: 32 }, 4_140],
    [{ phases: 1, voltageV: 230, maxCurrentA: 32 }, 1_380],
    [{ phases: 1, voltageV: 120, maxCurrentA: 16 }, 720],
  ] as const)('the floor of 6 A of %o is %d W', (each: ConnectorRating, floorW) => {
    expect(wattsOf(MINIMUM_CURRENT_A, each)).toBe(floorW);
    expect(wattsOfTenths(MINIMUM_TENTHS_A, milliwattsPerTenthA(each.voltageV, each.phases))).toBe(floorW);
  });

  it('tenths of an ampere are rounded down, save for what floating point made of whole tenths', () => {
    fc.assert(
      fc.property(tenthsA, (each) => {
        expect(tenthsAOf(each / 10)).toBe(each);
        expect(tenthsAOf(each / 10 + 0.099)).toBe(each);
      }),
    );
    expect(tenthsAOf(0.1 + 0.2)).toBe(3);
    expect(tenthsAOf(31.99)).toBe(319);
  });

  it('current within a limit never exceeds it, and wastes less than 0.1 A', () => {
    fc.assert(
      fc.property(limitW, voltageV, phases, (watts, volts, each) => {
        const tenths = tenthsWithin(watts, milliwattsPerTenthA(volts, each));
        expect(Number.isInteger(tenths)).toBe(true);
        expect(tenths * volts * each).toBeLessThanOrEqual(watts * 10);
        expect((tenths + 1) * volts * each).toBeGreaterThan(watts * 10);
      }),
      { numRuns: 2_000 },
    );
  });

  it('power of a current is never thought smaller than it is, and gives the current back', () => {
    fc.assert(
      fc.property(tenthsA, voltageV, phases, (tenths, volts, each) => {
        const milliwatts = milliwattsPerTenthA(volts, each);
        const watts = wattsOfTenths(tenths, milliwatts);
        expect(watts * 10).toBeGreaterThanOrEqual(tenths * volts * each);
        expect((watts - 1) * 10).toBeLessThan(tenths * volts * each);
        expect(tenthsWithin(watts, milliwatts)).toBe(tenths);
      }),
      { numRuns: 2_000 },
    );
  });

  it('a limit is rounded down to whole watts, and stays a number integers can hold', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 100_000_000 }), (watts) => {
        expect(wattsOfLimit(watts / 1_000)).toBe(watts);
        expect(wattsOfLimit((watts + 0.999) / 1_000)).toBe(watts);
      }),
    );
    expect(wattsOfLimit(Number.MAX_VALUE)).toBe(Number.MAX_SAFE_INTEGER);
  });
});
