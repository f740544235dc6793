// Estimates the load of the rest of a site from a meter that includes the chargers, which report late.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LoadEstimate } from '../../../machines/limits/load-estimate.js';
import { RESERVE_QUANTILE, RiseHistory } from '../../../machines/limits/rise-history.js';

const S = 1000;
const HOUR_MS = 3_600_000;
const historyOf = (least: number, most: number) => new RiseHistory({ least, most, highest: 1_000 });
/** A rise from a counted load of 50. */
const from50 = (rise: number) => ({ rise, height: 50 + rise });
const NO_CHARGERS = { measured: 0, most: 0 };

function estimateOf() {
  return new LoadEstimate({ step: 100, bounds: { least: 1_000, most: 10_000, highest: 100_000 } });
}

describe('A load behind a meter', () => {
  it('counts as the most it was in the last minute, in whole steps', () => {
    const estimate = estimateOf();
    const read = (second: number, loadW: number) => {
      estimate.receive(loadW, NO_CHARGERS, second * S, S);
      estimate.confirm(0, second * S, second * S);
      return estimate.counted;
    };
    expect(read(0, 5_010)).toBe(5_100);
    expect(read(1, 9_000)).toBe(9_000);
    expect(read(30, 2_000)).toBe(9_000);
    expect(read(61, 2_000)).toBe(9_000);
    expect(read(62, 2_050)).toBe(2_100);
  });

  it('does not count as more because a charger draws more than it has reported yet', () => {
    const estimate = estimateOf();
    estimate.receive(5_000, { measured: 0, most: 11_000 }, 0, S);
    estimate.confirm(0, 0, 0);
    estimate.receive(16_000, { measured: 0, most: 11_000 }, S, S);
    expect(estimate.counted).toBe(5_000);
    estimate.confirm(11_000, S, 9 * S);
    expect(estimate.counted).toBe(5_000);
  });

  it('counts at once as power that no charger may draw, reported or not', () => {
    const estimate = estimateOf();
    estimate.receive(5_000, { measured: 0, most: 11_000 }, 0, S);
    estimate.confirm(0, 0, 0);
    estimate.receive(24_000, { measured: 0, most: 11_000 }, S, S);
    expect(estimate.counted).toBe(13_000);
    estimate.confirm(0, S, 10 * S);
    expect(estimate.counted).toBe(24_000);
  });

  it('does not wait for a charger that never reports', () => {
    const estimate = estimateOf();
    estimate.receive(20_000, { measured: 0, most: 15_000 }, 0, S);
    estimate.confirm(0, -S, 14 * S);
    expect(estimate.isUnconfirmed).toBe(true);
    estimate.confirm(0, -S, 15 * S);
    expect(estimate.isUnconfirmed).toBe(false);
    expect(estimate.counted).toBe(20_000);
  });

  it('never counts so low that the import could exceed its limit, at any reports', () => {
    const reading = fc.record({
      buildingW: fc.integer({ min: 0, max: 60_000 }),
      drawnW: fc.integer({ min: 0, max: 40_000 }),
      reportedW: fc.integer({ min: 0, max: 40_000 }),
      isConfirmed: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(reading, { minLength: 1, maxLength: 40 }), (readings) => {
        const estimate = estimateOf();
        const mostW = 40_000;
        for (const [second, { buildingW, drawnW, reportedW, isConfirmed }] of readings.entries()) {
          const now = second * S;
          estimate.receive(buildingW + drawnW, { measured: reportedW, most: mostW }, now, S);
          if (isConfirmed) estimate.confirm(drawnW, now, now);
          // The highest possible draw of the chargers plus the counted building load covers the metered import.
          expect((estimate.counted ?? 0) + mostW).toBeGreaterThanOrEqual(buildingW + drawnW);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('is bounded, however fast readings come', () => {
    const estimate = estimateOf();
    for (let ms = 0; ms < 20_000; ms++) estimate.receive(5_000 + (ms % 7), NO_CHARGERS, ms, S);
    estimate.confirm(0, 20_000, 20_000);
    expect(estimate.counted).toBe(5_100);
  });
});

describe('The reserve beside it', () => {
  it('is its maximum until an hour of its past is recorded', () => {
    const rises = historyOf(1, 10);
    rises.add(from50(0), 3_599, 0);
    expect(rises.reserveAt(0, 50)).toBe(10);
    rises.add(from50(0), 1, 0);
    expect(rises.reserveAt(0, 50)).toBe(1);
  });

  it('covers all but a thousandth of its rises, between the bounds', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0, max: 30, noNaN: true }), { minLength: 4_000, maxLength: 4_500 }),
        (past) => {
          const rises = historyOf(2, 20);
          for (const rise of past) rises.add(from50(rise), 1, 0);
          const sorted = [...past].sort((a, b) => a - b);
          const place = Math.round(past.length * RESERVE_QUANTILE);
          const bounded = (rise = 0) => Math.min(Math.max(rise, 2), 20);
          // Rounding may move the boundary of the highest thousandth by one rise.
          expect(rises.reserveAt(0, 50)).toBeGreaterThanOrEqual(bounded(sorted[place - 2]) - 0.11);
          expect(rises.reserveAt(0, 50)).toBeLessThanOrEqual(bounded(sorted[place]) + 0.21);
        },
      ),
      { numRuns: 20 },
    );
  });

  it('does not expect a load that is up already to rise by as much again', () => {
    const rises = new RiseHistory({ least: 1, most: 10, highest: 100 });
    rises.add({ rise: 6, height: 20 }, 3_600, 0);
    expect([10, 14, 17, 20, 30].map((counted) => rises.reserveAt(0, counted))).toEqual([6, 6, 3, 1, 1]);
  });

  it('has its times of rising by day, and does not expect them to be on time', () => {
    const rises = historyOf(1, 10);
    for (let hour = 0; hour < 48; hour++) {
      rises.add(from50(0), 3_500, hour * HOUR_MS);
      rises.add(from50(hour % 24 === 12 ? 8 : 0), 100, hour * HOUR_MS);
    }
    const at = (hour: number) => rises.reserveAt(hour * HOUR_MS, 50);
    expect([11.4, 11.5, 12.5, 13.4, 13.5].map(at)).toEqual(
      [1, 8, 8, 8, 1].map((each) => expect.closeTo(each)),
    );
    expect([0, 23.9].map(at)).toEqual([1, 1]);
  });

  it('counts all of the day while an hour has no record yet', () => {
    const rises = historyOf(1, 10);
    rises.add(from50(6), 3_600, 0);
    expect([0, 1, 5].map((hour) => rises.reserveAt(hour * HOUR_MS, 50))).toEqual([6, 6, 6]);
  });

  it('forgets rises of long ago', () => {
    const rises = historyOf(1, 10);
    rises.add(from50(9), 3_600, 0);
    expect(rises.reserveAt(0, 50)).toBe(9);
    for (let hour = 0; hour < 24 * 60; hour++) rises.add(from50(2), 3_600, 3600 * S * hour);
    expect(rises.reserveAt(0, 50)).toBe(2);
  });

  it('is learnt from how the load rose while chargers would have followed', () => {
    const estimate = estimateOf();
    // A lift that takes 6 kW for 40 s twice an hour.
    for (let second = 0; second < 2 * 3600; second++) {
      const loadW = 4_000 + (second % 1800 < 40 ? 6_000 : 0);
      estimate.receive(loadW, NO_CHARGERS, second * S, S);
      estimate.confirm(0, second * S, second * S);
    }
    expect(estimate.isLearnt).toBe(true);
    expect(estimate.reserve).toBeGreaterThanOrEqual(6_000);
    expect(estimate.reserve).toBeLessThanOrEqual(6_100);
  });
});
