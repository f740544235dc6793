// Power and limit of a connector by the minute, and their packed form.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ConnectorMinutes, MINUTE_MS, type MinuteRun } from '../../machines/power/connector-minutes.js';
import { packed, unpacked } from '../../src/features/power-history/packed-minutes.js';

const STALE_MS = 30_000;
const DAY_MS = 86_400_000;
const DAWN_MS = Date.parse('2026-06-01T06:00:00Z');

/** Each minute with its values, in the order of the runs. */
function minutesOf(runs: readonly MinuteRun[]) {
  return runs.flatMap(({ atMs, minutes, meanDaW, limitDaW }) =>
    Array.from({ length: minutes }, (_, nth) => [atMs + nth * MINUTE_MS, meanDaW, limitDaW] as const),
  );
}

describe('A minute of a connector', () => {
  it('has the mean of power and limit, each by its duration', () => {
    const minutes = new ConnectorMinutes();
    minutes.note(11_000, 11_000, 0, STALE_MS);
    minutes.note(5_000, 11_000, 30_000, STALE_MS);
    minutes.noteLimit(5_000, 45_000);
    minutes.end(DAWN_MS, MINUTE_MS);
    expect(minutes.unwritten).toEqual([{ atMs: DAWN_MS, minutes: 1, meanDaW: 800, limitDaW: 950 }]);
  });

  it('counts a power until it is stale or the charger is lost, and is left out without one', () => {
    const minutes = new ConnectorMinutes();
    minutes.note(6_000, undefined, 0, STALE_MS);
    minutes.end(DAWN_MS, MINUTE_MS);
    minutes.end(DAWN_MS + MINUTE_MS, 2 * MINUTE_MS);
    minutes.note(9_000, undefined, 2 * MINUTE_MS, STALE_MS);
    minutes.lose(2 * MINUTE_MS + 1_000);
    minutes.end(DAWN_MS + 2 * MINUTE_MS, 3 * MINUTE_MS);
    minutes.lose(3 * MINUTE_MS + 1_000);
    minutes.end(DAWN_MS + 3 * MINUTE_MS, 4 * MINUTE_MS);
    expect(minutesOf(minutes.unwritten)).toEqual([
      [DAWN_MS, 600, undefined],
      [DAWN_MS + 2 * MINUTE_MS, 900, undefined],
    ]);
  });

  it('shares a run with equal ones before it', () => {
    const minutes = new ConnectorMinutes();
    for (let minute = 0; minute < 4; minute++) {
      minutes.note(minute < 3 ? 6_000 : 7_000, undefined, minute * MINUTE_MS, MINUTE_MS);
      minutes.end(DAWN_MS + minute * MINUTE_MS, (minute + 1) * MINUTE_MS);
    }
    expect(minutes.unwritten).toMatchObject([
      { atMs: DAWN_MS, minutes: 3, meanDaW: 600 },
      { atMs: DAWN_MS + 3 * MINUTE_MS, minutes: 1, meanDaW: 700 },
    ]);
  });

  it('is written with fourteen others at most, and those of many connectors at different times', () => {
    const written = Array.from({ length: 15 }, (_, nth) => {
      const minutes = new ConnectorMinutes();
      const counts: number[] = [];
      for (let minute = 0; minute < 60; minute++) {
        minutes.note(1_000 * minute, undefined, minute * MINUTE_MS, MINUTE_MS);
        minutes.end(DAWN_MS + minute * MINUTE_MS, (minute + 1) * MINUTE_MS);
        if (minutes.isDue(nth)) counts.push(minutes.take().length);
        expect(minutes.unwritten.length).toBeLessThan(15);
      }
      return counts;
    });
    expect(written.map(([first]) => first)).toEqual(Array.from({ length: 15 }, (_, nth) => nth + 1));
    expect(written.every(([, ...others]) => others.every((count) => count === 15))).toBe(true);
  });
});

describe('The packed minutes of a day', () => {
  const run = fc.record({
    atMs: fc.nat(3 * 1_440).map((minute) => minute * MINUTE_MS),
    minutes: fc.integer({ min: 1, max: 40 }),
    meanDaW: fc.integer({ min: -2_000, max: 10_000_000 }),
    limitDaW: fc.option(fc.nat(10_000_000), { nil: undefined }),
  });

  it('are the same after reading, in their order, and by their days', () => {
    fc.assert(
      fc.property(fc.array(run, { maxLength: 30 }), (runs) => {
        const days = packed(runs);
        const read = [...days].map(([dayMs, text]) => minutesOf(unpacked(dayMs, text)));
        for (const [nth, [dayMs]] of [...days].entries()) {
          const ofDay = minutesOf(runs).filter(([atMs]) => Math.floor(atMs / DAY_MS) * DAY_MS === dayMs);
          expect(read[nth]).toEqual(ofDay);
        }
        expect(read.flat()).toHaveLength(minutesOf(runs).length);
      }),
    );
  });

  it('take three digits for a usual minute, and four for any number of equal ones below eight', () => {
    const usual = Array.from({ length: 60 }, (_, nth) => ({
      atMs: nth * MINUTE_MS,
      minutes: 1,
      meanDaW: 1_100 + (nth % 7),
      limitDaW: 1_104,
    }));
    expect(packed(usual).get(0)?.length).toBeLessThanOrEqual(60 * 3 + 5);
    expect(packed([{ atMs: 0, minutes: 7, meanDaW: 0, limitDaW: undefined }]).get(0)).toBe('.AOA');
  });

  it('end at a damaged text, without an endless or impossible minute', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 200 }), (text) => {
        for (const { atMs } of unpacked(0, text)) expect(atMs).toBeLessThan(DAY_MS);
      }),
    );
  });
});
