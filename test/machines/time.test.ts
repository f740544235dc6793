// Windows are exact to the millisecond: the start belongs to them, and the end does not.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nextBoundaryOf, statusAt } from '../../machines/values/time.js';
import { eraMs } from './arbitraries.js';

const NOON = Date.UTC(2026, 5, 1, 12);
const window = { startsAtMs: NOON, endsAtMs: NOON + 3_600_000 };

describe('The status of a window (section 3.1)', () => {
  it.each([
    ['a millisecond before its start', -1, 'SCHEDULED'],
    ['at its start', 0, 'ACTIVE'],
    ['a millisecond before its end', 3_599_999, 'ACTIVE'],
    ['at its end', 3_600_000, 'EXPIRED'],
    ['years after', 1e12, 'EXPIRED'],
  ] as const)('%s is as in the table', (_, offsetMs, status) => {
    expect(statusAt(window, NOON + offsetMs)).toBe(status);
  });

  it('hands over between adjacent windows without gap or overlap, in any era', () => {
    const lengths = fc.array(fc.integer({ min: 1, max: 10 }), { minLength: 2, maxLength: 5 });
    fc.assert(
      fc.property(eraMs, lengths, (era, lengthsMs) => {
        let at = era;
        const windows = lengthsMs.map((lengthMs) => {
          const startsAtMs = at;
          at += lengthMs;
          return { startsAtMs, endsAtMs: at };
        });
        for (let t = era; t < at; t++) {
          expect(windows.filter((each) => statusAt(each, t) === 'ACTIVE')).toHaveLength(1);
        }
        expect(windows.map((each) => statusAt(each, at))).toEqual(windows.map(() => 'EXPIRED'));
      }),
    );
  });
});

describe('The next boundary of a window', () => {
  it('is its start, then its end, then none, always later than now', () => {
    expect(nextBoundaryOf(window, NOON - 1)).toBe(NOON);
    expect(nextBoundaryOf(window, NOON)).toBe(window.endsAtMs);
    expect(nextBoundaryOf(window, window.endsAtMs - 1)).toBe(window.endsAtMs);
    expect(nextBoundaryOf(window, window.endsAtMs)).toBeUndefined();
  });

  it('is the instant at which the status is next another, however far away', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -4e12, max: 4e12 }),
        fc.integer({ min: 1, max: 4e12 }),
        fc.integer({ min: -4e12, max: 4e12 }),
        (startsAtMs, lengthMs, now) => {
          const each = { startsAtMs, endsAtMs: startsAtMs + lengthMs };
          const boundary = nextBoundaryOf(each, now);
          const status = statusAt(each, now);
          if (boundary === undefined) {
            expect(status).toBe('EXPIRED');
          } else {
            expect(boundary).toBeGreaterThan(now);
            expect(statusAt(each, boundary - 1)).toBe(status);
            expect(statusAt(each, boundary)).not.toBe(status);
          }
        },
      ),
    );
  });
});
