// The estimated demand of a car from its draw (R19, R20).
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  createDemand,
  type Demand,
  type DrawnReading,
  doubtRest,
  foldDemand,
} from '../../machines/power/connector-demand.js';

const CHARGING: DrawnReading = {
  status: 'Charging',
  drawnTenthsA: 0,
  limitTenthsA: 320,
  maxTenthsA: 320,
};

/** A car that came at 0 and was reported once. */
function withCar(): Demand {
  const demand = createDemand(320);
  foldDemand(demand, { ...CHARGING, drawnTenthsA: 320 }, 0);
  return demand;
}

/**
 * Reports `drawnTenthsA` under `limitTenthsA` every 10 s from `fromMs` to `untilMs`. Returns true if a reading changed
 * the demand.
 */
function draw(
  demand: Demand,
  [drawnTenthsA, limitTenthsA]: readonly [number, number],
  [fromMs, untilMs]: readonly [number, number],
): boolean {
  let isNews = false;
  for (let atMs = fromMs; atMs <= untilMs; atMs += 10_000) {
    if (foldDemand(demand, { ...CHARGING, drawnTenthsA, limitTenthsA }, atMs)) isNews = true;
  }
  return isNews;
}

describe('A connector', () => {
  it.each(['Available', 'Finishing', 'Faulted', 'Unavailable'] as const)(
    'that is %s has no car',
    (status) => {
      const demand = withCar();
      expect(foldDemand(demand, { ...CHARGING, status }, 1)).toBe(true);
      expect(demand.hasCar).toBe(false);
      expect(foldDemand(demand, { ...CHARGING, status, drawnTenthsA: 320 }, 2)).toBe(false);
    },
  );

  it.each([undefined, 'Preparing', 'Charging', 'SuspendedEV', 'SuspendedEVSE'] as const)(
    'that is %s has one, or may have',
    (status) => {
      const demand = createDemand(320);
      expect(foldDemand(demand, { ...CHARGING, status }, 5)).toBe(true);
      expect(demand).toMatchObject({ hasCar: true, arrivedAtMs: 5, mostTenthsA: 320, isResting: false });
    },
  );

  it('counts for how long its car has charged, pauses and rests left out, and begins anew with the next car', () => {
    const demand = withCar();
    draw(demand, [320, 320], [10_000, 100_000]);
    expect(demand.chargedMs).toBe(100_000);
    draw(demand, [0, 0], [110_000, 200_000]);
    draw(demand, [0, 60], [210_000, 300_000]);
    draw(demand, [60, 60], [310_000, 340_000]);
    expect(demand.chargedMs).toBe(140_000);
    foldDemand(demand, { ...CHARGING, status: 'Available' }, 350_000);
    foldDemand(demand, { ...CHARGING, drawnTenthsA: 320 }, 400_000);
    foldDemand(demand, { ...CHARGING, drawnTenthsA: 320 }, 410_000);
    expect(demand.chargedMs).toBe(10_000);
  });

  it('forgets the demand of the previous car', () => {
    const demand = withCar();
    draw(demand, [100, 320], [10_000, 60_000]);
    expect(demand.mostTenthsA).toBeLessThan(320);
    foldDemand(demand, { ...CHARGING, status: 'Available' }, 70_000);
    foldDemand(demand, CHARGING, 80_000);
    expect(demand).toMatchObject({ hasCar: true, arrivedAtMs: 80_000, mostTenthsA: 320 });
  });
});

describe('A car that draws 90 % of its limit or more', () => {
  it('wants all there is', () => {
    const demand = withCar();
    draw(demand, [100, 320], [10_000, 60_000]);
    expect(foldDemand(demand, { ...CHARGING, drawnTenthsA: 90, limitTenthsA: 100 }, 70_000)).toBe(true);
    expect(demand.mostTenthsA).toBe(320);
    expect(foldDemand(demand, { ...CHARGING, drawnTenthsA: 90, limitTenthsA: 100 }, 80_000)).toBe(false);
  });

  it('no longer counts as lowering', () => {
    const demand = withCar();
    draw(demand, [100, 320], [10_000, 30_000]);
    draw(demand, [300, 320], [39_000, 39_000]);
    expect(draw(demand, [100, 320], [40_000, 60_000])).toBe(false);
  });
});

describe('A car that draws clearly less than its limit', () => {
  it('is lowered after 30 s, not before, to its draw and a step', () => {
    const demand = withCar();
    expect(draw(demand, [100, 320], [10_000, 39_999])).toBe(false);
    expect(demand.mostTenthsA).toBe(320);
    expect(draw(demand, [100, 320], [40_000, 40_000])).toBe(true);
    expect(demand.mostTenthsA).toBe(122);
  });

  it('is lowered to the most it drew meanwhile', () => {
    const demand = withCar();
    draw(demand, [100, 320], [10_000, 10_000]);
    draw(demand, [200, 320], [20_000, 20_000]);
    draw(demand, [100, 320], [30_000, 40_000]);
    expect(demand.mostTenthsA).toBe(233);
  });

  it('is lowered with every reading as it takes less and less, to its draw of 30 s before', () => {
    for (const everyMs of [10_000, 1_000]) {
      const demand = withCar();
      const drawnAt = (atMs: number) => Math.round(320 - atMs / 500);
      for (let atMs = everyMs; atMs <= 120_000; atMs += everyMs) {
        const limitTenthsA = demand.mostTenthsA;
        foldDemand(demand, { ...CHARGING, drawnTenthsA: drawnAt(atMs), limitTenthsA }, atMs);
        expect(demand.peaks.length).toBeLessThan(20);
        if (atMs < 60_000) continue;
        // Only a difference of one step changes the demand. The heartbeat before it and the step that every car gets
        // add to that.
        const knownMs = atMs - 30_000 - everyMs - 5_000;
        expect(demand.mostTenthsA).toBeLessThanOrEqual(drawnAt(knownMs) / 0.9 + 20);
      }
    }
  });

  it('is not lowered for less than a step', () => {
    const demand = withCar();
    expect(draw(demand, [90, 115], [10_000, 300_000])).toBe(false);
    expect(demand.mostTenthsA).toBe(320);
  });

  it('is followed down as its battery fills, and is never held to less than 6 A', () => {
    const demand = withCar();
    let atMs = 10_000;
    for (const drawn of [200, 150, 100, 60, 30, 10]) {
      draw(demand, [drawn, demand.mostTenthsA], [atMs, atMs + 60_000]);
      expect(demand.mostTenthsA).toBeGreaterThan(drawn);
      atMs += 70_000;
    }
    expect(demand).toMatchObject({ mostTenthsA: 60, isResting: false });
  });

  it('can always show a higher demand: its reduced limit never counts as its demand', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 320 }), (drawn) => {
        const demand = withCar();
        draw(demand, [drawn, 320], [10_000, 100_000]);
        const { mostTenthsA } = demand;
        expect(mostTenthsA).toBeGreaterThanOrEqual(Math.min(drawn, 60));
        if (mostTenthsA === 320) return;
        // A car that draws the same under this limit keeps it. A car that draws all of it gets a higher limit again.
        draw(demand, [drawn, mostTenthsA], [110_000, 200_000]);
        expect(demand.mostTenthsA).toBe(mostTenthsA);
        draw(demand, [mostTenthsA, mostTenthsA], [210_000, 210_000]);
        expect(demand.mostTenthsA).toBe(320);
      }),
    );
  });
});

describe('A car that does not charge though it may', () => {
  it('rests after 30 s, at 6 A', () => {
    const demand = withCar();
    draw(demand, [0, 60], [10_000, 30_000]);
    expect(demand.isResting).toBe(false);
    expect(draw(demand, [0, 60], [40_000, 40_000])).toBe(true);
    expect(demand).toMatchObject({ isResting: true, mostTenthsA: 60 });
  });

  it('is lowered to 6 A at once if its charger reports a stop, and rests after 30 s as others do', () => {
    const demand = withCar();
    const stopped: DrawnReading = { ...CHARGING, status: 'SuspendedEV' };
    foldDemand(demand, { ...CHARGING, drawnTenthsA: 320 }, 5_000);
    expect(foldDemand(demand, stopped, 10_000)).toBe(true);
    expect(demand).toMatchObject({ mostTenthsA: 60, isResting: false });
    expect(foldDemand(demand, { ...stopped, limitTenthsA: 60 }, 20_000)).toBe(false);
    expect(foldDemand(demand, { ...stopped, limitTenthsA: 60 }, 40_000)).toBe(true);
    expect(demand).toMatchObject({ mostTenthsA: 60, isResting: true });
  });

  it('has the time that it needs to begin, whatever status its charger reports', () => {
    const demand = createDemand(320);
    foldDemand(demand, { ...CHARGING, status: 'Preparing' }, 0);
    expect(foldDemand(demand, { ...CHARGING, status: 'SuspendedEV' }, 1_000)).toBe(false);
    foldDemand(demand, { ...CHARGING, drawnTenthsA: 320 }, 10_000);
    foldDemand(demand, { ...CHARGING, status: 'SuspendedEVSE', limitTenthsA: 0 }, 20_000);
    expect(foldDemand(demand, { ...CHARGING, status: 'SuspendedEV' }, 30_000)).toBe(false);
    expect(demand.mostTenthsA).toBe(320);
  });

  it('rests no longer once it draws again', () => {
    const demand = withCar();
    draw(demand, [0, 60], [10_000, 40_000]);
    expect(draw(demand, [60, 60], [50_000, 50_000])).toBe(true);
    expect(demand).toMatchObject({ isResting: false, mostTenthsA: 320 });
  });

  it('counts as demanding again half an hour later, if it is paused', () => {
    const demand = withCar();
    draw(demand, [0, 60], [10_000, 40_000]);
    expect(draw(demand, [0, 0], [50_000, 1_830_000])).toBe(false);
    expect(demand.isResting).toBe(true);
    expect(draw(demand, [0, 0], [1_840_000, 1_840_000])).toBe(true);
    expect(demand.isResting).toBe(false);
  });

  it('is asked half as often each time that it does not charge, two hours apart at the most', () => {
    const demand = withCar();
    let atMs = 10_000;
    const restsMin = [30, 60, 120, 120].map(() => {
      draw(demand, [0, 60], [atMs, atMs + 30_000]);
      const fromMs = atMs + 30_000;
      while (!draw(demand, [0, 0], [atMs, atMs])) atMs += 10_000;
      return (atMs - fromMs) / 60_000;
    });
    expect(restsMin).toEqual([30, 60, 120, 120]);
    draw(demand, [60, 60], [atMs, atMs]);
    expect(demand.restsForMs).toBe(0);
  });

  describe('because its charger suspends it under the lowest limit', () => {
    const suspend = (demand: Demand, limitTenthsA: number, [fromMs, untilMs]: readonly [number, number]) => {
      let isNews = false;
      for (let atMs = fromMs; atMs <= untilMs; atMs += 10_000)
        isNews = foldDemand(demand, { ...CHARGING, status: 'SuspendedEVSE', limitTenthsA }, atMs) || isNews;
      return isNews;
    };

    it('rests, and is offered the power that others leave', () => {
      const demand = withCar();
      expect(suspend(demand, 60, [10_000, 40_000])).toBe(true);
      expect(demand).toMatchObject({ isResting: true, mostTenthsA: 320 });
    });

    it('has 30 s of a higher limit to begin, however late that comes, and then half an hour at 6 A', () => {
      const demand = withCar();
      suspend(demand, 60, [10_000, 110_000]);
      expect(suspend(demand, 320, [120_000, 140_000])).toBe(false);
      expect(suspend(demand, 320, [150_000, 150_000])).toBe(true);
      expect(demand).toMatchObject({ isResting: true, mostTenthsA: 60 });
      expect(suspend(demand, 60, [160_000, 1_940_000])).toBe(false);
      expect(suspend(demand, 60, [1_950_000, 1_950_000])).toBe(true);
      expect(demand).toMatchObject({ isResting: true, mostTenthsA: 320 });
    });

    it('wants all there is once it charges under the higher limit', () => {
      const demand = withCar();
      suspend(demand, 60, [10_000, 40_000]);
      draw(demand, [320, 320], [50_000, 50_000]);
      expect(demand).toMatchObject({ isResting: false, mostTenthsA: 320 });
    });
  });

  it('does not rest because it is paused', () => {
    const demand = withCar();
    expect(draw(demand, [0, 0], [10_000, 600_000])).toBe(false);
    expect(demand).toMatchObject({ isResting: false, mostTenthsA: 320 });
  });
});

describe('A car that was there before the service started', () => {
  it.each([
    ['needs no more than the limit it does not use up', { drawnTenthsA: 90, heldTenthsA: 110 }, 110],
    ['may want more where it uses all of its limit', { drawnTenthsA: 105, heldTenthsA: 110 }, 320],
    ['keeps the floor where it draws nothing there', { drawnTenthsA: 0, heldTenthsA: 60 }, 60],
    [
      'is like one that just came where its charger holds no limit',
      { drawnTenthsA: 90, heldTenthsA: undefined },
      320,
    ],
  ])('%s', (_, held, mostTenthsA) => {
    const demand = createDemand(320);
    foldDemand(demand, { ...CHARGING, limitTenthsA: held.heldTenthsA ?? 320, ...held }, 0);
    expect(demand).toMatchObject({ mostTenthsA, isResting: false });
  });

  it('rests for five minutes where it is paused, unless that is doubted', () => {
    const paused = { ...CHARGING, limitTenthsA: 0, heldTenthsA: 0 };
    const [patient, doubted] = [createDemand(320), createDemand(320)];
    for (const demand of [patient, doubted]) {
      foldDemand(demand, paused, 0);
      expect(demand.isResting).toBe(true);
    }
    doubtRest(doubted);
    expect(doubted.isResting).toBe(false);
    foldDemand(patient, paused, 299_999);
    expect(patient.isResting).toBe(true);
    foldDemand(patient, paused, 300_000);
    expect(patient.isResting).toBe(false);
  });

  it('rests in spite of any doubt once it was served', () => {
    const demand = createDemand(320);
    foldDemand(demand, { ...CHARGING, limitTenthsA: 0, heldTenthsA: 0 }, 0);
    draw(demand, [0, 60], [10_000, 60_000]);
    doubtRest(demand);
    expect(demand.isResting).toBe(true);
  });
});
