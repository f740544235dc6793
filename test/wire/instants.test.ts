// An instant is a second that exists in the calendar.
import { describe, expect, it } from 'vitest';
import { instantSchema } from '../../src/wire/rest.js';

describe('The pattern of an instant', () => {
  it('matches only days of the calendar, from 1970 to 9999', () => {
    for (let year = 1900; year < 10_000; year++)
      for (const [month, day] of [
        [1, 31],
        [2, 28],
        [2, 29],
        [2, 30],
        [4, 30],
        [4, 31],
        [12, 31],
        [12, 32],
      ] as const) {
        const text = `${year}-${String(month).padStart(2, '0')}-${day}T23:59:59Z`;
        const isDay = year >= 1970 && new Date(Date.UTC(year, month - 1, day)).getUTCDate() === day;
        if (instantSchema.safeParse(text).success !== isDay) expect([text, isDay]).toEqual([text, !isDay]);
      }
  });
});
