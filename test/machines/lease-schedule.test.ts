// Conclusions about a charger's lease from its composite schedule.
import { describe, expect, it } from 'vitest';
import { judge, type LeaseSchedule } from '../../machines/session/lease-schedule.js';

const LEASE: LeaseSchedule = {
  unit: 'A',
  phases: 3,
  counted: 0,
  // The charger counts the lease from 100 s.
  startsAtOwnMs: 90_000,
  endsAfterS: 70,
  limit: 16,
  thenLimit: 6,
};

/** A schedule shown 5 s after the lease began. The lease ends 55 s later. */
function shown(periods: readonly [startS: number, limit: number][], more = {}) {
  const composite = { unit: 'A', startsAtOwnMs: 105_000, durationS: 120, ...more } as const;
  const list = periods.map(([startS, limit]) => ({ startS, limit }));
  return judge({ ...composite, periods: list }, LEASE, 230).verdict;
}

describe('A composite schedule', () => {
  it.each([
    [
      'both periods',
      [
        [0, 16],
        [55, 6],
      ],
      'proved',
    ],
    [
      'less than it was told, and less then',
      [
        [0, 10],
        [55, 0],
      ],
      'proved',
    ],
    [
      'an end a second late',
      [
        [0, 16],
        [56, 6],
      ],
      'proved',
    ],
    [
      'an end two seconds late',
      [
        [0, 16],
        [57, 6],
      ],
      'unkept',
    ],
    ['never more than the fall-back', [[0, 6]], 'kept'],
    [
      'more than it was told',
      [
        [0, 16.1],
        [55, 6],
      ],
      'unkept',
    ],
    ['no end', [[0, 16]], 'unkept'],
    [
      'an end to more than it was told',
      [
        [0, 16],
        [55, 7],
      ],
      'unkept',
    ],
    [
      'no limit when the lease is over, written as -1',
      [
        [0, 16],
        [55, -1],
      ],
      'unkept',
    ],
    [
      'no limit before that, written as -1',
      [
        [0, -1],
        [55, 6],
      ],
      'unkept',
    ],
    [
      'a rise later on',
      [
        [0, 16],
        [55, 6],
        [90, 16],
      ],
      'unkept',
    ],
    ['nothing said of its first minute', [[50, 6]], 'unkept'],
    [
      'nothing said of its beginning, and both periods',
      [
        [1, 16],
        [55, 6],
      ],
      'unkept',
    ],
    [
      'both periods, the later one first',
      [
        [55, 6],
        [0, 16],
      ],
      'proved',
    ],
    [
      'a rise that is said first',
      [
        [90, 16],
        [0, 16],
        [55, 6],
      ],
      'unkept',
    ],
    ['no limit at all', [[0, -1]], 'unshown'],
    ['nothing', [], 'unshown'],
  ] as const)('with %s: %j is %s', (_, periods, verdict) => {
    expect(shown(periods.map(([startS, limit]) => [startS, limit]))).toBe(verdict);
  });

  it('that ends before the lease does proves nothing', () => {
    expect(shown([[0, 16]], { durationS: 30 })).toBe('unkept');
  });

  it('of a clock that reads earlier than the value the lease counts from is not accepted', () => {
    expect(
      shown(
        [
          [0, 6],
          [20, 16],
          [80, 6],
        ],
        { startsAtOwnMs: 80_000 },
      ),
    ).toBe('unkept');
  });

  it('in watts is converted', () => {
    expect(
      shown(
        [
          [0, 11_040],
          [55, 4_140],
        ],
        { unit: 'W' },
      ),
    ).toBe('proved');
    expect(
      shown(
        [
          [0, 12_000],
          [55, 4_140],
        ],
        { unit: 'W' },
      ),
    ).toBe('unkept');
  });
});
