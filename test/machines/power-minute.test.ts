// A minute of power counts the draw of that minute and nothing of the next one, however late its end is noticed.
import { expect, it } from 'vitest';
import { PowerMinute } from '../../machines/power/power-minute.js';

const MINUTE_MS = 60_000;
const measured = (actualW: number) => ({ actualW, estimatedW: undefined });

/** A minute from 0 on with a draw of 1 kW under a limit of 10 kW. It ends at 60 s. */
function minuteOfOneKw() {
  const minute = new PowerMinute();
  minute.noteLimit(10_000, -1_000);
  minute.notePower(measured(1_000), -1_000);
  minute.end(-MINUTE_MS, 0, MINUTE_MS);
  return minute;
}

it('leaves power after its end to the next minute, though the timer comes 5 s late', () => {
  const minute = minuteOfOneKw();
  minute.notePower(measured(9_000), MINUTE_MS + 2_000);
  minute.noteLimit(4_000, MINUTE_MS + 3_000);
  const ended = minute.end(0, MINUTE_MS, 2 * MINUTE_MS);
  expect(ended).toEqual({
    atMs: 0,
    meanW: 1_000,
    maxW: 1_000,
    estimatedW: null,
    limitW: 10_000,
    meanLimitW: 10_000,
    currents: null,
    feeders: [],
    building: null,
  });
  const next = minute.end(MINUTE_MS, 2 * MINUTE_MS, 3 * MINUTE_MS);
  // 2 s of 1 kW and 58 s of 9 kW. 3 s under 10 kW and 57 s under 4 kW.
  expect(next).toMatchObject({ meanW: 8_733, maxW: 9_000, limitW: 4_000, meanLimitW: 4_300 });
});

it('ends by the clock if nothing was noted since', () => {
  const minute = minuteOfOneKw();
  expect(minute.end(0, MINUTE_MS, 2 * MINUTE_MS)).toMatchObject({
    meanW: 1_000,
    maxW: 1_000,
  });
  minute.notePower(measured(3_000), MINUTE_MS + 30_000);
  const next = minute.end(MINUTE_MS, 2 * MINUTE_MS, 3 * MINUTE_MS);
  expect(next?.meanW).toBe(2_000);
});

it('returns nothing for a minute without any record', () => {
  const minute = new PowerMinute();
  expect(minute.end(0, 60_000, 120_000)).toBeUndefined();
});

it('has the mean and the highest current of each phase, weighed by the time that they lasted', () => {
  const minute = new PowerMinute();
  minute.noteLimit(50_000, 0);
  minute.notePower({ ...measured(1_000), gridTenthsA: [60, 0, 320] }, 0);
  // The same power on other phases is another current.
  minute.notePower({ ...measured(1_000), gridTenthsA: [160, 100, 0] }, 15_000);
  minute.notePower({ ...measured(2_000), gridTenthsA: [160, 40, 0] }, 45_000);
  expect(minute.end(0, MINUTE_MS, 2 * MINUTE_MS)?.currents).toEqual({
    meanTenthsA: [135, 60, 80],
    maxTenthsA: [160, 100, 320],
  });
  // Current from before the minute began does not count for its maximum.
  expect(minute.end(MINUTE_MS, 2 * MINUTE_MS, 3 * MINUTE_MS)?.currents).toEqual({
    meanTenthsA: [160, 40, 0],
    maxTenthsA: [160, 40, 0],
  });
});

it('has the current through each feeder, since it was provisioned as it is', () => {
  const minute = new PowerMinute();
  const through = (names: readonly string[], ...tenthsA: (readonly [number, number, number])[]) => ({
    ...measured(1_000),
    feeders: { names, tenthsA },
  });
  const names = ['hall', 'roof'];
  minute.noteLimit(50_000, 0);
  minute.notePower(through(names, [100, 0, 0], [0, 50, 0]), 0);
  minute.notePower(through(names, [160, 0, 0], [0, 20, 0]), 30_000);
  expect(minute.end(0, MINUTE_MS, 2 * MINUTE_MS)?.feeders).toEqual([
    { name: 'hall', meanTenthsA: [130, 0, 0], maxTenthsA: [160, 0, 0] },
    { name: 'roof', meanTenthsA: [0, 35, 0], maxTenthsA: [0, 50, 0] },
  ]);
  minute.notePower(through(['roof', 'yard'], [0, 20, 0], [7, 0, 0]), MINUTE_MS + 30_000);
  expect(minute.end(MINUTE_MS, 2 * MINUTE_MS, 3 * MINUTE_MS)?.feeders).toEqual([
    { name: 'roof', meanTenthsA: [0, 20, 0], maxTenthsA: [0, 20, 0] },
    { name: 'yard', meanTenthsA: [7, 0, 0], maxTenthsA: [7, 0, 0] },
  ]);
  minute.notePower(measured(1_000), 2 * MINUTE_MS);
  expect(minute.end(2 * MINUTE_MS, 3 * MINUTE_MS, 4 * MINUTE_MS)?.feeders).toEqual([]);
});

it('weighs only the time in which the currents were recorded', () => {
  const minute = new PowerMinute();
  minute.noteLimit(50_000, 0);
  minute.notePower(measured(1_000), 0);
  minute.notePower({ ...measured(1_000), gridTenthsA: [100, 100, 100] }, 40_000);
  expect(minute.end(0, MINUTE_MS, 2 * MINUTE_MS)?.currents?.meanTenthsA).toEqual([100, 100, 100]);
  minute.notePower(measured(1_000), MINUTE_MS);
  expect(minute.end(MINUTE_MS, 2 * MINUTE_MS, 3 * MINUTE_MS)?.currents).toBeNull();
});

it('has the building load and its reserve, weighed by the time, and the highest at any moment', () => {
  const minute = new PowerMinute();
  minute.noteLimit(50_000, 0);
  minute.notePower(measured(1_000), 0);
  minute.noteBuilding({ buildingW: 12_000, reserveW: 4_000 }, 0);
  minute.noteBuilding({ buildingW: 24_000, reserveW: 2_000 }, 30_000);
  minute.noteBuilding({ buildingW: 24_000, reserveW: 8_000 }, 45_000);
  expect(minute.end(0, MINUTE_MS, 2 * MINUTE_MS)?.building).toEqual({
    meanW: 18_000,
    maxW: 24_000,
    meanReserveW: 4_500,
  });
  minute.noteBuilding({ buildingW: 6_000, reserveW: 8_000 }, MINUTE_MS + 30_000);
  expect(minute.end(MINUTE_MS, 2 * MINUTE_MS, 3 * MINUTE_MS)?.building).toEqual({
    meanW: 15_000,
    maxW: 24_000,
    meanReserveW: 8_000,
  });
  minute.noteBuilding(undefined, 2 * MINUTE_MS);
  expect(minute.end(2 * MINUTE_MS, 3 * MINUTE_MS, 4 * MINUTE_MS)?.building).toBeNull();
});
