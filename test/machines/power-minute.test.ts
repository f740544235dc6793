// A minute of power has what was drawn in it, and nothing of the next one, however late its end is noticed.
import { expect, it } from 'vitest';
import { PowerMinute } from '../../machines/power/power-minute.js';

const MINUTE_MS = 60_000;
const measured = (actualW: number) => ({ actualW, estimatedW: undefined });

/** A minute from 0 on in which 1 kW is drawn of 10 kW; it knows that it ends at 60 s. */
function minuteOfOneKw() {
  const minute = new PowerMinute();
  minute.noteLimit(10_000, -1_000);
  minute.notePower(measured(1_000), -1_000);
  minute.end(-MINUTE_MS, 0, MINUTE_MS);
  return minute;
}

it('leaves to the next minute what is drawn after its end, though the timer comes 5 s late', () => {
  const minute = minuteOfOneKw();
  minute.notePower(measured(9_000), MINUTE_MS + 2_000);
  minute.noteLimit(4_000, MINUTE_MS + 3_000);
  const ended = minute.end(0, MINUTE_MS, 2 * MINUTE_MS);
  expect(ended).toEqual({
    ...{ atMs: 0, meanW: 1_000, maxW: 1_000, estimatedW: null, limitW: 10_000, meanLimitW: 10_000 },
  });
  const next = minute.end(MINUTE_MS, 2 * MINUTE_MS, 3 * MINUTE_MS);
  // 2 s of 1 kW and 58 s of 9 kW; 3 s under 10 kW and 57 s under 4 kW.
  expect(next).toMatchObject({ meanW: 8_733, maxW: 9_000, limitW: 4_000, meanLimitW: 4_300 });
});

it('ends when the clock says so where nothing was noted since', () => {
  const minute = minuteOfOneKw();
  expect(minute.end(0, MINUTE_MS, 2 * MINUTE_MS)).toMatchObject({
    meanW: 1_000,
    maxW: 1_000,
  });
  minute.notePower(measured(3_000), MINUTE_MS + 30_000);
  const next = minute.end(MINUTE_MS, 2 * MINUTE_MS, 3 * MINUTE_MS);
  expect(next?.meanW).toBe(2_000);
});

it('says nothing of a minute of which nothing is known', () => {
  const minute = new PowerMinute();
  expect(minute.end(0, 60_000, 120_000)).toBeUndefined();
});
