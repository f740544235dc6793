// Conversions round to the safe side: never above a limit, and never below the true power.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type ConnectorRating,
  dcWOfTenths,
  gridWOfDcW,
  leastTenthsAOf,
  MINIMUM_TENTHS_A,
  milliwattsPerTenthA,
  tenthsAOf,
  tenthsOfDcW,
  tenthsWithin,
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
    expect(wattsOfTenths(MINIMUM_TENTHS_A, milliwattsPerTenthA(each.voltageV, each.phases))).toBe(floorW);
  });

  it('tenths of an ampere are rounded down, apart from errors of floating point in whole tenths', () => {
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

  it('power of a DC connector takes no more from a phase than it is counted with, at any voltage down to 10 % below nominal', () => {
    const kilowatts = fc.integer({ min: 1, max: 400_000 });
    const share = fc.integer({ min: 500, max: 1_000 });
    fc.assert(
      fc.property(
        kilowatts,
        share,
        fc.integer({ min: 0, max: 400_000 }),
        voltageV,
        (maxW, eff, atW, volts) => {
          const dc = { maxPowerKw: maxW / 1_000, minPowerKw: 0, efficiency: eff / 1_000 };
          const unit = { voltageV: volts, dc };
          const dcW = Math.min(atW, maxW);
          const tenths = tenthsOfDcW(dcW, unit);
          const fromGridW = dcW / dc.efficiency;
          expect(fromGridW / (3 * 0.9 * volts)).toBeLessThanOrEqual(tenths / 10 + 1e-6);
          expect(gridWOfDcW(dcW, dc)).toBeGreaterThanOrEqual(fromGridW - 1e-5);
          // A grant in tenths of an ampere is sent in W, and the charger reports it in W.
          const toldW = dcWOfTenths(tenths, unit);
          expect(toldW).toBeLessThanOrEqual(maxW);
          expect(tenthsOfDcW(toldW, unit)).toBeLessThanOrEqual(tenths);
          expect(toldW).toBeGreaterThanOrEqual(dcW);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it('a DC connector has no floor of 6 A, but the least that it can give', () => {
    const unit = (minPowerKw: number) => ({
      voltageV: 230,
      dc: { maxPowerKw: 50, minPowerKw, efficiency: 0.9 },
    });
    expect([0, 5, 10].map((minPowerKw) => leastTenthsAOf(unit(minPowerKw)))).toEqual([1, 90, 179]);
    expect(leastTenthsAOf({ voltageV: 230, dc: null })).toBe(60);
    // 207 V on three phases, and 10 % of the power is lost.
    expect(dcWOfTenths(100, unit(0))).toBe(5_589);
  });
});
