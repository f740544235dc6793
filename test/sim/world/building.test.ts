// A building's load beside the chargers, and the unavoidable part of an import above the connection.
import { describe, expect, it } from 'vitest';
import { ImportWatch } from '../../../sim/checks/import-watch.js';
import type { Building } from '../../../sim/scenario/scenario.js';
import { buildingWAt } from '../../../sim/world/building.js';

const S = 1000;
const HOUR = 3_600 * S;

function building(more: Partial<Building> = {}): Building {
  return {
    tenantUuid: 't',
    locationId: 'tower',
    connectionKw: 80,
    maxBuildingKw: 60,
    leastReserveKw: 2,
    pvRaisesHeadroom: false,
    base: [{ fromMs: 0, kw: 10 }],
    lift: undefined,
    peaks: [],
    pv: undefined,
    meterEveryMs: S,
    meterFaults: [],
    ...more,
  };
}

describe('A building', () => {
  it('draws the same power with the same seed, and other power with another seed', () => {
    const lift = { kw: 9, everyMs: 180 * S, lastsMs: 25 * S };
    const day = (seed: number) =>
      Array.from({ length: 2_000 }, (_, i) => buildingWAt(building({ lift }), seed, i * S));
    expect(day(1)).toEqual(day(1));
    expect(day(2)).not.toEqual(day(1));
  });

  it('runs its lift as often and as long as configured', () => {
    const lift = { kw: 9, everyMs: 180 * S, lastsMs: 25 * S };
    let [trips, upS] = [0, 0];
    let wasUp = false;
    for (let atMs = 0; atMs < 10 * HOUR; atMs += S) {
      const isUp = buildingWAt(building({ lift }), 3, atMs) > 15_000;
      if (isUp) upS++;
      if (isUp && !wasUp) trips++;
      wasUp = isUp;
    }
    expect(upS).toBe(200 * 25);
    expect(trips).toBeGreaterThan(190);
    expect(trips).toBeLessThanOrEqual(200);
  });

  it('follows its steps and peaks, and exports surplus solar power', () => {
    const peaks = [{ kw: 20, everyMs: 60 * S, lastsMs: 60 * S, fromMs: HOUR, untilMs: 2 * HOUR }];
    const pv = { kw: 40, fromMs: 3 * HOUR, untilMs: 5 * HOUR };
    const kwAt = (hours: number) =>
      buildingWAt(
        building({
          base: [
            { fromMs: 0, kw: 10 },
            { fromMs: 2 * HOUR, kw: 5 },
          ],
          peaks,
          pv,
        }),
        1,
        hours * HOUR,
      ) / 1000;
    expect(kwAt(0.5)).toBeCloseTo(10, 1);
    expect(kwAt(1.5)).toBeCloseTo(30, 1);
    expect(kwAt(2.5)).toBeCloseTo(5, 1);
    expect(kwAt(4)).toBeLessThan(-10);
  });
});

describe('The import watch', () => {
  function watchOf(more: Partial<Building> = {}) {
    let [now, drawnW] = [0, 0];
    const broken: string[] = [];
    const watch = new ImportWatch({
      buildings: [building(more)],
      drawnW: () => drawnW,
      nowMs: () => now,
      horizonMs: 71_200,
      report: ({ invariant }) => broken.push(invariant),
    });
    return {
      watch,
      broken,
      /** A second with this load of building and chargers. The meter reports it if `isRead`. */
      second(buildingW: number, chargersW: number, isRead = true) {
        drawnW = chargersW;
        watch.drawn('tower', buildingW);
        if (isRead) watch.read('tower', buildingW + chargersW);
        now += S;
      },
    };
  }

  it('excuses and counts a rise of the building load that chargers cannot follow yet', () => {
    const { watch, broken, second } = watchOf();
    for (let i = 0; i < 60; i++) second(10_000, 66_000);
    for (let i = 0; i < 10; i++) second(40_000, 66_000);
    for (let i = 0; i < 60; i++) second(40_000, 38_000);
    expect(broken).toEqual([]);
    expect(watch.over).toEqual([{ locationId: 'tower', excusedKws: expect.closeTo(233, -1), brokenKws: 0 }]);
  });

  it('reports chargers that do not follow in time', () => {
    const { watch, broken, second } = watchOf();
    for (let i = 0; i < 60; i++) second(10_000, 66_000);
    for (let i = 0; i < 30; i++) second(40_000, 66_000);
    expect(broken).toEqual(['P17']);
    expect(watch.over[0]?.brokenKws).toBeGreaterThan(300);
  });

  it('waits for the end of leases if chargers may be cut off', () => {
    const { watch, broken, second } = watchOf();
    for (let i = 0; i < 60; i++) second(10_000, 66_000);
    watch.disturbed();
    for (let i = 0; i < 80; i++) second(40_000, 66_000);
    expect(broken).toEqual([]);
    for (let i = 0; i < 10; i++) second(40_000, 66_000);
    expect(broken).toEqual(['P17']);
  });

  it('expects the maximum building load after three missed readings and half a minute', () => {
    const { broken, second } = watchOf();
    for (let i = 0; i < 60; i++) second(10_000, 66_000);
    for (let i = 0; i < 40; i++) second(55_000, 66_000, false);
    expect(broken).toEqual([]);
    for (let i = 0; i < 10; i++) second(55_000, 66_000, false);
    expect(broken).toEqual(['P17']);
  });
});
