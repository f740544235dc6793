// The lines of the location's chart: limits in force as recorded then, measured power, and one axis for all.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EMPTY_STACK, effectiveLimitKwAt, putProfile } from '../../machines/limits/profile-stack.js';
import { GRID_PHASES } from '../../machines/power/fuses.js';
import {
  bridged,
  columnsOf,
  continued,
  highestOfLast,
  type StepLine,
  since,
  until,
  valueAt,
} from '../../web/location/step-line.js';
import { moved, showing, spanOf, stepSecondsOf, zoomed } from '../../web/location/time-view.js';
import {
  effectiveHistory,
  limitInForce,
  lowerOf,
  pastLines,
  thenPlanned,
} from '../../web/location/use-chart-lines.js';
import { limitKw, profileWithin } from '../machines/arbitraries.js';

const ERA = Date.UTC(2026, 5, 1);
const iso = (ms: number) => new Date(ERA + ms).toISOString();
const SPAN_MS = 40;

describe('Stored minutes and live values', () => {
  const stored = [
    { atMs: 0, value: 5 },
    { atMs: 60_000, value: null },
  ];
  const told = (atMs: number) => [{ atMs, value: 7 }];

  it('leave no gap in a minute that is not stored yet', () => {
    const line = bridged(stored, told(90_000), 65_000);
    expect([59_000, 61_000, 89_999, 90_000].map((atMs) => valueAt(line, atMs))).toEqual([5, 5, 5, 7]);
  });

  it('leave a gap for a time without measurements', () => {
    const line = bridged(stored, told(200_000), 65_000);
    expect([59_000, 61_000, 199_999, 200_000].map((atMs) => valueAt(line, atMs))).toEqual([5, null, null, 7]);
  });

  it('are joined if they overlap or one is missing', () => {
    expect(bridged(stored, told(30_000), 65_000)).toEqual(continued(stored, told(30_000)));
    expect(bridged([], told(1), 65_000)).toEqual(told(1));
    expect(bridged(stored, [], 65_000)).toEqual(stored);
  });
});

describe('The effective limit of the past', () => {
  it('follows at every instant the submissions before it, including replaced ones', () => {
    const submitted = fc.array(fc.tuple(profileWithin(SPAN_MS), fc.integer({ min: -5, max: SPAN_MS })), {
      maxLength: 12,
    });
    const permanent = fc.array(fc.tuple(limitKw, fc.integer({ min: 0, max: SPAN_MS })), { maxLength: 3 });
    fc.assert(
      fc.property(submitted, permanent, (unordered, laterLimits) => {
        const submissions = unordered.toSorted((a, b) => a[1] - b[1]);
        const limits = [[50, -10] as const, ...laterLimits.toSorted((a, b) => a[1] - b[1])];
        const line = effectiveHistory(
          {
            locationId: 'quay-1',
            from: iso(0),
            to: iso(SPAN_MS),
            nextCursor: null,
            submissions: submissions.map(([profile, atMs], i) => {
              const next = submissions.slice(i + 1).find(([later]) => later.priority === profile.priority);
              return {
                priority: profile.priority,
                limitKw: profile.limitKw,
                submittedAt: iso(atMs),
                startTime: iso(profile.startsAtMs),
                endTime: iso(profile.endsAtMs),
                supersededAt: next === undefined ? null : iso(next[1]),
              };
            }),
            permanentLimits: limits.map(([limit, atMs]) => ({ limitKw: limit, setAt: iso(atMs) })),
          },
          { startsAtMs: ERA, endsAtMs: ERA + SPAN_MS },
        );
        for (let atMs = 0; atMs < SPAN_MS; atMs++) {
          const known = submissions
            .filter(([, submittedMs]) => submittedMs <= atMs)
            .map(([profile]) => profile);
          const fallbackKw = limits.findLast(([, setMs]) => setMs <= atMs)?.[0] ?? 0;
          const wanted = effectiveLimitKwAt(known.reduce(putProfile, EMPTY_STACK), fallbackKw, atMs);
          expect(valueAt(line, ERA + atMs)).toBe(wanted);
        }
      }),
    );
  });
});

describe('Measured power', () => {
  it('is drawn only for minutes with a roll-up', () => {
    const point = (minute: number, meanKw: number, l2A?: number) => ({
      at: iso(minute * 60_000),
      meanKw,
      maxKw: 9,
      estimatedKw: null,
      limitKw: 15,
      meanLimitKw: 20,
      phases:
        l2A === undefined
          ? []
          : GRID_PHASES.map((phase) => ({ phase, meanA: 1, maxA: phase === 'L2' ? l2A : 5 })),
      building: l2A === undefined ? null : { meanKw: 10 * meanKw, maxKw: 99, meanReserveKw: 4 },
    });
    const { powerKw, buildingKw, occupiedKw, phasesA } = pastLines({
      locationId: 'quay-1',
      from: iso(0),
      to: iso(600_000),
      stepSeconds: 60,
      feeder: null,
      points: [point(0, 1), point(1, 2, 16), point(5, 3, 20)],
    });
    const minutes = [0, 1, 2, 4, 5].map((minute) => valueAt(powerKw, ERA + minute * 60_000));
    expect(minutes).toEqual([1, 2, null, null, 3]);
    const l2A = [0, 1, 2, 5, 6].map((minute) => valueAt(phasesA[1] ?? [], ERA + minute * 60_000));
    expect(l2A).toEqual([null, 16, null, 20, null]);
    const at = [0, 1, 2, 5, 6].map((minute) => ERA + minute * 60_000);
    expect(at.map((atMs) => valueAt(buildingKw, atMs))).toEqual([null, 20, null, 30, null]);
    expect(at.map((atMs) => valueAt(occupiedKw, atMs))).toEqual([null, 24, null, 34, null]);
  });
});

describe('The limit in force of stored minutes', () => {
  const MINUTE = 60_000;
  const powerOf = (limits: readonly (readonly [minute: number, meanKw: number, lowestKw: number])[]) => ({
    locationId: 'quay-1',
    from: iso(0),
    to: iso(10 * MINUTE),
    stepSeconds: 60,
    feeder: null,
    points: limits.map(([minute, meanLimitKw, limitKw]) => ({
      at: iso(minute * MINUTE),
      meanKw: 5,
      maxKw: 9,
      estimatedKw: null,
      limitKw,
      meanLimitKw,
      phases: [],
      building: null,
    })),
  });
  const line = (...steps: readonly (readonly [ms: number, kw: number | null])[]) =>
    steps.map(([ms, value]) => ({ atMs: ERA + ms, value }));
  const at = (steps: StepLine, ...instants: readonly number[]) =>
    instants.map((ms) => valueAt(steps, ERA + ms));

  it('is the limit at that instant, and not a mean, in a minute with a short window', () => {
    const effective = line([0, 50], [MINUTE + 10_000, 22], [MINUTE + 55_000, 50]);
    const power = powerOf([
      [0, 50, 50],
      [1, 29, 22],
      [2, 50, 50],
    ]);
    const { inForceKw, lowestKw, highestKw } = limitInForce(power, [effective], []);
    expect(at(inForceKw, 9_999, 69_999, 70_000, 114_999, 115_000, 170_000)).toEqual([50, 50, 22, 22, 50, 50]);
    expect(at(lowestKw, 70_000)).toEqual([null]);
    // Only the mean of this minute's power is recorded.
    expect(at(highestKw, 59_999, 70_000, 120_000)).toEqual([null, 50, null]);
  });

  it("is below the effective limit under another cap, and follows the grid operator's limit", () => {
    const effective = line([0, 100], [MINUTE + 30_000, 22]);
    const capped = limitInForce(
      powerOf([
        [0, 80, 80],
        [1, 51, 22],
        [2, 22, 22],
      ]),
      [effective],
      [],
    );
    expect(at(capped.inForceKw, 89_999, 90_000)).toEqual([80, 22]);
    const operator = line([0, null], [MINUTE + 15_000, 10]);
    const both = lowerOf(line([0, 40]), operator);
    const ordered = limitInForce(
      powerOf([
        [0, 40, 40],
        [1, 17.5, 10],
        [2, 10, 10],
      ]),
      [line([0, 40]), both],
      [],
    );
    expect(at(ordered.inForceKw, 74_999, 75_000)).toEqual([40, 10]);
  });

  it('changes once, at an instant derived from the mean, if only the neighbouring limits are recorded', () => {
    const { inForceKw } = limitInForce(
      powerOf([
        [0, 50, 50],
        [1, 32, 20],
        [2, 20, 20],
      ]),
      [line([0, 60])],
      [],
    );
    expect(at(inForceKw, 60_000, 83_999, 84_000, 119_999)).toEqual([50, 50, 20, 20]);
  });

  it('is the mean, with the lowest value, if no recorded limit fits the minute', () => {
    const { inForceKw, lowestKw } = limitInForce(
      powerOf([
        [0, 50, 50],
        [1, 41, 20],
        [2, 50, 50],
      ]),
      [line([0, 50])],
      [],
    );
    expect(at(inForceKw, 59_999, 60_000, 119_999, 120_000)).toEqual([50, 41, 41, 50]);
    expect(at(lowestKw, 59_999, 60_000, 119_999, 120_000)).toEqual([null, 20, 20, null]);
  });

  it('is the stored value if an earlier version stored only the lowest limit', () => {
    const { inForceKw, lowestKw } = limitInForce(
      powerOf([
        [0, 50, 50],
        [1, 22, 22],
      ]),
      [line([0, 50], [90_000, 22])],
      [],
    );
    expect(at(inForceKw, 30_000, 60_000, 119_999, 120_000)).toEqual([50, 22, 22, null]);
    expect(lowestKw).toEqual([]);
  });

  it('changes at the beginning of the window in a minute that is not stored yet', () => {
    const effective = line([0, 50], [MINUTE + 20_000, 22]);
    const { inForceKw } = limitInForce(powerOf([[0, 50, 50]]), [effective], line([MINUTE + 45_000, 22]));
    expect(at(inForceKw, 79_999, 80_000, 105_000)).toEqual([50, 22, 22]);
    const gone = limitInForce(powerOf([[0, 50, 50]]), [effective], line([10 * MINUTE, 22]));
    expect(at(gone.inForceKw, 80_000, 10 * MINUTE)).toEqual([null, 22]);
  });

  it('is reconstructed at every instant from the minutes of random windows', () => {
    // A change that lasts for a few milliseconds is within the rounding of a mean.
    const tenth = fc.integer({ min: 1, max: 5_990 }).map((tenths) => 100 * tenths);
    const course = fc.uniqueArray(fc.record({ atMs: tenth, value: fc.integer({ min: 5, max: 90 }) }), {
      selector: ({ atMs }) => atMs,
      maxLength: 8,
    });
    fc.assert(
      fc.property(course, (unordered) => {
        const steps = [{ atMs: 0, value: 50 }, ...unordered.toSorted((a, b) => a.atMs - b.atMs)];
        const effective = steps.map(({ atMs, value }) => ({ atMs: ERA + atMs, value }));
        const minutes = Array.from({ length: 10 }, (_, minute) => {
          const first = valueAt(effective, ERA + minute * MINUTE) ?? 0;
          const later = steps.filter(({ atMs }) => atMs > minute * MINUTE && atMs < (minute + 1) * MINUTE);
          const least = Math.min(first, ...later.map(({ value }) => value));
          return [minute, meanOf(effective, minute), least] as const;
        });
        const { inForceKw } = limitInForce(powerOf(minutes), [effective], []);
        for (let ms = 0; ms < 600_000; ms += 2_900) expect(at(inForceKw, ms)).toEqual(at(effective, ms));
      }),
      { numRuns: 30 },
    );
    function meanOf(steps: StepLine, minute: number): number {
      const [fromMs, toMs] = [ERA + minute * MINUTE, ERA + (minute + 1) * MINUTE];
      const inside = [
        { atMs: fromMs, value: valueAt(steps, fromMs) },
        ...steps.filter(({ atMs }) => atMs > fromMs && atMs < toMs),
      ];
      const sum = inside.reduce(
        (total, { atMs, value }, i) => total + (value ?? 0) * ((inside[i + 1]?.atMs ?? toMs) - atMs),
        0,
      );
      return Math.round((1000 * sum) / MINUTE) / 1000;
    }
  });

  it('continues with the planned limits after now, and not before', () => {
    const told = line([0, 50], [40_000, 17]);
    const planned = line([30_000, 50], [90_000, 22]);
    expect(at(thenPlanned(told, planned, ERA + 50_000), 39_999, 40_000, 60_000, 90_000)).toEqual([
      50, 17, 17, 22,
    ]);
  });
});

describe('Lines on one axis', () => {
  const power = [
    { atMs: 0, value: 1 },
    { atMs: 10, value: 2 },
  ];
  const limit = [{ atMs: 4, value: 9 }];

  it('have a value at every step of any line, and at both ends', () => {
    expect(columnsOf([power, limit], 2, 20)).toEqual([
      [2, 4, 10, 20],
      [1, 1, 2, 2],
      [null, 9, 9, 9],
    ]);
  });

  it('continue with newer values from their beginning', () => {
    expect(continued(power, limit)).toEqual([power[0], limit[0]]);
    expect(continued(power, [])).toEqual(power);
    expect(until(since(power, 5), 12)).toEqual([
      { atMs: 5, value: 1 },
      { atMs: 10, value: 2 },
      { atMs: 12, value: null },
    ]);
  });
});

describe('The permitted power while chargers follow a lower limit', () => {
  const step = fc.record({ atMs: fc.nat(60), value: fc.option(fc.integer({ min: 1, max: 50 })) });
  const steps = fc.uniqueArray(step, { selector: ({ atMs }) => atMs, maxLength: 12 });

  it('is at every instant the highest limit of the preceding window', () => {
    fc.assert(
      fc.property(steps, fc.integer({ min: 1, max: 20 }), (unordered, windowMs) => {
        const line = unordered.toSorted((a, b) => a.atMs - b.atMs);
        const highest = highestOfLast(line, windowMs);
        for (let instant = 0; instant < 100; instant++) {
          const last = Array.from({ length: windowMs + 1 }, (_, i) => valueAt(line, instant - i));
          const known = last.filter((kw) => kw !== null);
          const wanted = valueAt(line, instant) === null ? null : Math.max(...known);
          expect(valueAt(highest, instant)).toBe(wanted);
        }
      }),
    );
  });
});

describe('The visible time span', () => {
  const hour = { fromMs: 0, toMs: 3_600_000 };

  it('follows now, with two thirds past and one third future, until it is moved', () => {
    expect(spanOf({ lengthMs: 3_600_000, startsAtMs: undefined }, 2_400_000)).toEqual(hour);
    expect(spanOf(moved(hour, 0.5), 99)).toEqual({ fromMs: 1_800_000, toMs: 5_400_000 });
    expect(spanOf(zoomed(hour, 0.5), 99)).toEqual({ fromMs: 900_000, toMs: 2_700_000 });
  });

  it('lasts at least two minutes, and requests a drawable number of roll-ups', () => {
    expect(showing({ fromMs: 0, toMs: 10 }).lengthMs).toBe(120_000);
    expect(stepSecondsOf(hour)).toBe(60);
    expect(stepSecondsOf({ fromMs: 0, toMs: 604_800_000 })).toBe(840);
  });
});
