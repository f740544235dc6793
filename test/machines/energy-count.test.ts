// Energy by quarter-hours, from registers that are reset, wrap, jump, go back, arrive late or twice.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EnergyCount, QUARTER_MS, type QuarterEnergy } from '../../machines/power/energy-count.js';

const START = Date.parse('2026-06-01T12:00:00Z');
const MOST_W = 22_000;
const STALE_MS = 30_000;
const EVERY_MS = 10_000;

/** A charger that reports every ten seconds. */
class Charger {
  count: EnergyCount;
  now = START;
  counted = 0;
  readonly stored: QuarterEnergy[] = [];

  constructor(before?: EnergyCount) {
    this.count = new EnergyCount(before?.stored);
  }

  reads(energyWh: number | undefined, powerW = 0, afterMs = EVERY_MS): number {
    this.now += afterMs;
    const at = { now: this.now, nowMs: this.now - START };
    const wh = this.count.count({ energyWh, powerW }, MOST_W, STALE_MS, at);
    this.counted += wh;
    return wh;
  }

  /** It charges with 18 kW, 50 Wh per reading. @returns the register at the end */
  charges(fromWh: number, readings: number): number {
    for (let nth = 1; nth <= readings; nth++) this.reads(fromWh + 50 * nth, 18_000);
    return fromWh + 50 * readings;
  }

  /** All that is and will be on disk. */
  kept(): number {
    const byBegin = new Map(this.stored.map((quarter) => [quarter.startsAtMs, quarter.wh]));
    for (const { startsAtMs, wh } of this.count.stored.quarters) byBegin.set(startsAtMs, wh);
    return [...byBegin.values()].reduce((sum, wh) => sum + wh, 0);
  }

  restarts(): void {
    this.count = new EnergyCount(this.count.stored);
  }
}

describe('A register', () => {
  it('counts by its increases', () => {
    const charger = new Charger();
    charger.reads(1_000);
    charger.charges(1_000, 10);
    expect(charger.counted).toBe(500);
    expect(charger.count.isIntegrated).toBe(false);
  });

  it.each([
    ['twice', [1_500, 1_500]],
    ['late', [1_300]],
    ['late, in their order', [1_100, 1_200, 1_300, 1_400]],
    ['as a wrong high one', [900_000]],
    ['as a wrong low one', [0]],
  ])('loses and invents nothing if a value arrives %s', (_, values) => {
    const charger = new Charger();
    charger.reads(1_000);
    charger.charges(1_000, 10);
    for (const value of values) charger.reads(value, 18_000, 1_000);
    charger.reads(1_600, 18_000, EVERY_MS - 1_000 * values.length);
    charger.charges(1_600, 60);
    expect(charger.counted).toBeCloseTo(3_600, 6);
  });

  it.each([
    ['was reset', 0],
    ['went back', 700],
    ['wrapped', 3],
    ['jumped, with another meter', 5_000_000],
  ])('that %s counts by power until it is sure, and then by its increases', (_, next) => {
    const charger = new Charger();
    charger.reads(1_000);
    charger.charges(1_000, 10);
    charger.reads(next, 18_000);
    charger.charges(next, 60);
    // The power counts between the last value of the one and the first of the other.
    expect(charger.counted).toBeCloseTo(500 + 50 + 3_000, 6);
    charger.charges(next + 3_000, 10);
    expect(charger.count.isIntegrated).toBe(false);
    expect(charger.counted).toBeCloseTo(4_050, 6);
  });

  it('that counts whole kilowatt-hours is no jump', () => {
    const charger = new Charger();
    for (let nth = 0; nth <= 360; nth++) charger.reads(Math.floor(nth / 20) * 1_000, 18_000);
    expect(charger.counted).toBe(18_000);
  });

  it('that changes once in a quarter-hour is no jump, also just after a restart', () => {
    const charger = new Charger();
    charger.reads(1_000, 18_000);
    charger.restarts();
    charger.reads(5_500, 18_000);
    expect(charger.counted).toBe(4_500);
  });

  it('that is missing for a while takes off what its power showed', () => {
    const charger = new Charger();
    charger.reads(1_000);
    for (let nth = 0; nth < 6; nth++) charger.reads(undefined, 18_000);
    expect(charger.counted).toBeCloseTo(250, 6);
    charger.reads(1_280, 18_000);
    expect(charger.counted).toBeCloseTo(280, 6);
    // The power showed more than the register: the next increases are less.
    for (let nth = 0; nth < 6; nth++) charger.reads(undefined, 18_000);
    charger.reads(1_400, 18_000);
    expect(charger.counted).toBeCloseTo(580, 6);
    charger.charges(1_400, 10);
    expect(charger.counted).toBeCloseTo(900, 6);
  });

  it('counts an increase over a silence evenly in its quarter-hours', () => {
    const charger = new Charger();
    charger.reads(1_000);
    charger.reads(13_000, 18_000, 3_600_000 - EVERY_MS);
    expect(charger.counted).toBe(12_000);
    const [first, second] = charger.count.take(charger.now);
    expect(first).toMatchObject({ startsAtMs: START, wh: 2_975, integratedWh: 0 });
    expect(second?.wh).toBe(3_008);
  });

  it('counts a silence with a voltage above the nominal one', () => {
    const charger = new Charger();
    charger.reads(0);
    charger.reads(240_000, 0, 10 * 3_600_000);
    expect(charger.counted).toBe(240_000);
  });

  it('counts a silence of ten days in the last seven', () => {
    const charger = new Charger();
    charger.reads(0);
    charger.reads(168_000, 0, 240 * 3_600_000);
    const quarters = charger.count.take(charger.now + QUARTER_MS);
    expect(quarters).toHaveLength(7 * 96 + 1);
    expect(quarters[1]?.wh).toBe(250);
  });

  it('is no source of energy that no car could have drawn in the silence', () => {
    const charger = new Charger();
    charger.reads(1_000);
    charger.reads(90_000, 0, 3_600_000);
    expect(charger.counted).toBe(0);
  });
});

describe('A quarter-hour', () => {
  it('is stored once, and again only if it got more', () => {
    const charger = new Charger();
    charger.reads(0);
    charger.charges(0, 88);
    const endsAtMs = START + QUARTER_MS;
    expect(charger.count.take(endsAtMs)).toMatchObject([{ startsAtMs: START, wh: 4_400 }]);
    expect(charger.count.isDue(endsAtMs)).toBe(false);
    charger.reads(4_500, 18_000, 2 * EVERY_MS);
    expect(charger.count.take(charger.now)).toMatchObject([{ startsAtMs: START, wh: 4_450 }]);
    charger.charges(4_500, 80);
    expect(charger.count.take(endsAtMs + QUARTER_MS)).toMatchObject([{ startsAtMs: endsAtMs, wh: 4_050 }]);
  });

  it('that was stored before a restart stays as it is, because its location may be another one', () => {
    const charger = new Charger();
    charger.reads(0);
    charger.charges(0, 88);
    const endsAtMs = START + QUARTER_MS;
    charger.count.take(endsAtMs);
    charger.restarts();
    expect(charger.count.isDue(endsAtMs + EVERY_MS)).toBe(false);
    charger.reads(4_500, 18_000, 2 * EVERY_MS);
    charger.charges(4_500, 88);
    expect(charger.count.take(charger.now + QUARTER_MS)).toMatchObject([{ startsAtMs: endsAtMs, wh: 4_500 }]);
  });
});

describe('Without a database', () => {
  it('all energy is kept, in the quarter-hours of a week', () => {
    const charger = new Charger();
    charger.reads(0);
    for (let hours = 1; hours <= 240; hours++) charger.reads(10_000 * hours, 10_000, 3_600_000);
    expect(charger.counted).toBe(2_400_000);
    expect(charger.kept()).toBeCloseTo(2_400_000, 3);
    expect(charger.count.stored.quarters.length).toBeLessThan(7 * 96 + 2);
  });
});

describe('Without a register', () => {
  it('the power counts, for as long as its reading is fresh', () => {
    const charger = new Charger();
    charger.reads(undefined, 18_000);
    charger.reads(undefined, 18_000);
    charger.reads(undefined, 0, 3_600_000);
    expect(charger.counted).toBeCloseTo(50 + 150, 6);
    const [quarter] = charger.count.take(charger.now);
    expect(quarter).toMatchObject({ startsAtMs: START, wh: 200, integratedWh: 200 });
  });

  it('a crash loses at most a kilowatt-hour and a minute', () => {
    const charger = new Charger();
    let onDisk = 0;
    for (let nth = 0; nth < 1_000; nth++) {
      charger.reads(undefined, 22_000);
      if (nth % 6 === 0 && charger.count.isDue(charger.now)) {
        charger.count.take(charger.now);
        onDisk = charger.counted;
      }
      expect(charger.counted - onDisk).toBeLessThan(1_000 + 22_000 / 60 + 1);
    }
  });
});

describe('Any charger', () => {
  const reading = fc.record({
    energyWh: fc.option(fc.integer({ min: 0, max: 60_000 }), { nil: undefined }),
    powerW: fc.integer({ min: 0, max: MOST_W }),
    afterMs: fc.integer({ min: 0, max: 2_000_000 }),
    next: fc.constantFrom('take', 'restart', 'nothing'),
  });

  it('has as much energy in its quarter-hours as was counted, over restarts', () => {
    fc.assert(
      fc.property(fc.array(reading, { maxLength: 60 }), (readings) => {
        const charger = new Charger();
        for (const { energyWh, powerW, afterMs, next } of readings) {
          expect(charger.reads(energyWh, powerW, afterMs)).toBeGreaterThanOrEqual(0);
          if (next === 'take') charger.stored.push(...charger.count.take(charger.now));
          if (next === 'restart') charger.restarts();
        }
        expect(charger.kept()).toBeCloseTo(charger.counted, 3);
        for (const { startsAtMs } of charger.stored) expect(startsAtMs % QUARTER_MS).toBe(0);
      }),
    );
  });

  it('never counts more than its register has risen or its power could give', () => {
    const step = fc.record({
      wh: fc.integer({ min: 0, max: 60 }),
      fault: fc.constantFrom('none', 'none', 'none', 'missing', 'late', 'twice', 'restart'),
    });
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 200 }), (steps) => {
        const charger = new Charger();
        let truthWh = 10_000;
        const said = [truthWh];
        charger.reads(truthWh);
        for (const { wh, fault } of steps) {
          truthWh += wh;
          const late = said[Math.max(0, said.length - 4)];
          charger.reads(fault === 'missing' ? undefined : fault === 'late' ? late : truthWh, wh * 360);
          if (fault === 'twice') charger.reads(truthWh, wh * 360, 0);
          if (fault === 'restart') charger.restarts();
          said.push(truthWh);
        }
        for (let nth = 0; nth < 40; nth++) charger.reads(truthWh, 0);
        truthWh += 10_000;
        charger.reads(truthWh, 0, 3_600_000);
        expect(charger.counted).toBeCloseTo(truthWh - 10_000, 3);
      }),
    );
  });
});
