// Checks the algorithms of the energy bench against published figures, a linear program and results worked out by hand.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Coefficients, type Constraint, solve } from 'yalps';
import { optimumKwh } from '../../tools/bench/energy-optimum.js';
import { deliveredKwh, POLICIES } from '../../tools/bench/energy-policies.js';
import {
  readSessions,
  STEP_H,
  type SteppedSession,
  sessionFileBeside,
  steppedSessions,
} from '../../tools/bench/energy-sessions.js';
import { needing } from '../needs.js';

/** Published results for the file, % of the requested energy: FCFS, EDF, LLF, equal share. */
const PUBLISHED = {
  10: [55.38, 58.5, 58.81, 55.27],
  20: [82.0, 87.56, 88.21, 81.12],
  30: [93.84, 98.38, 99.17, 93.27],
  50: [99.3, 99.88, 99.88, 99.07],
  70: [99.83, 99.88, 99.88, 99.76],
} as const;
/** The publication does not state the order of two cars that arrive at once, nor the rounding of equal share. */
const WITHIN_POINTS = [0.15, 0.02, 0.01, 0.06];

const path = sessionFileBeside();
const MARCH = { fromMs: Date.parse('2019-03-01T00:00:00Z'), untilMs: Date.parse('2019-04-08T00:00:00Z') };

const someSessions = fc.array(
  fc
    .record({
      from: fc.integer({ min: 0, max: 12 }),
      steps: fc.integer({ min: 1, max: 12 }),
      energyKwh: fc.integer({ min: 1, max: 60 }).map((n) => n / 10),
    })
    .map(({ from, steps, energyKwh }): SteppedSession => ({ from, to: from + steps, energyKwh, maxKw: 6.6 })),
  { maxLength: 7 },
);

/** The optimum by a linear program, with one variable for each session and step. */
function optimumByProgram(sessions: readonly SteppedSession[], capKw: number): number {
  const constraints: Record<string, Constraint> = {};
  const variables: Record<string, Coefficients> = {};
  for (const [n, { from, to, energyKwh, maxKw }] of sessions.entries()) {
    constraints[`energy${n}`] = { max: energyKwh };
    for (let step = from; step < to; step++) {
      constraints[`step${step}`] = { max: capKw * STEP_H };
      constraints[`power${n}/${step}`] = { max: maxKw * STEP_H };
      variables[`${n}/${step}`] = { kwh: 1, [`energy${n}`]: 1, [`step${step}`]: 1, [`power${n}/${step}`]: 1 };
    }
  }
  const { status, result } = solve({ direction: 'maximize', objective: 'kwh', constraints, variables });
  if (status !== 'optimal') throw new Error(`the linear program is ${status}`);
  return result;
}

describe('The maximum deliverable energy', () => {
  it('is the optimum of the linear program', () => {
    fc.assert(
      fc.property(someSessions, fc.integer({ min: 1, max: 20 }), (sessions, capKw) => {
        expect(optimumKwh(sessions, capKw)).toBeCloseTo(optimumByProgram(sessions, capKw), 5);
      }),
      { numRuns: 150 },
    );
  });

  it('is at least the delivery of each algorithm, and at most the requested energy', () => {
    fc.assert(
      fc.property(someSessions, fc.integer({ min: 1, max: 20 }), (unsorted, capKw) => {
        const sessions = [...unsorted].sort((a, b) => a.from - b.from);
        const mostKwh = optimumKwh(sessions, capKw);
        const requestedKwh = sessions.reduce((sum, { energyKwh }) => sum + energyKwh, 0);
        expect(mostKwh).toBeLessThanOrEqual(requestedKwh + 1e-6);
        for (const policy of POLICIES)
          expect(deliveredKwh(policy, sessions, capKw)).toBeLessThanOrEqual(mostKwh + 1e-6);
      }),
      { numRuns: 300 },
    );
  });
});

describe('The algorithms', () => {
  const hour = 1 / STEP_H;
  /** The first car stays for two hours, the second for one hour. */
  const two: readonly SteppedSession[] = [
    { from: 0, to: 2 * hour, energyKwh: 6, maxKw: 6.6 },
    { from: 0, to: hour, energyKwh: 4, maxKw: 6.6 },
  ];

  it('deliver the energy calculated by hand', () => {
    const found = POLICIES.map((policy) => Math.round(100 * deliveredKwh(policy, two, 5)) / 100);
    // In the first hour: 5 and 0, 1 and 4, 1 and 4, 2.5 and 2.5 kWh. After that the first car gets its missing energy.
    expect(found).toEqual([6, 10, 10, 8.5]);
  });

  const recordings = path === undefined ? 'the recorded month beside the project' : undefined;
  it('deliver the published energy for the recorded month', needing(recordings), () => {
    const sessions = steppedSessions(
      readSessions({ path: path ?? '', energy: 'requested', timeZone: undefined }),
      MARCH,
    );
    const requestedKwh = sessions.reduce((sum, { energyKwh }) => sum + energyKwh, 0);
    expect(requestedKwh).toBeCloseTo(8900.5, 1);
    for (const [cap, figures] of Object.entries(PUBLISHED)) {
      for (const [i, policy] of POLICIES.entries()) {
        const percent = (100 * deliveredKwh(policy, sessions, Number(cap))) / requestedKwh;
        expect(Math.abs(percent - (figures[i] ?? 0)), `${policy}, ${cap} kW`).toBeLessThanOrEqual(
          WITHIN_POINTS[i] ?? 0,
        );
      }
    }
    expect((100 * optimumKwh(sessions, 10)) / requestedKwh).toBeCloseTo(59.1, 1);
  });
});
