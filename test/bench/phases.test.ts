// One-phase cars at three-phase connectors: a short version of the bench, which simulates a day.
import { describe, expect, it } from 'vitest';
import { runScenario } from '../../sim/run/run-scenario.js';
import { bestWh, type PhasesCase, phasesScenario } from '../../tools/bench/phases-scenario.js';

const EIGHT = { cars: 8, limitKw: 50, wiring: 'rotated', endsWithSession: true, hours: 2, seed: 1 } as const;
const TWELVE = { ...EIGHT, cars: 12, limitKw: 43 };

async function played(phases: PhasesCase) {
  const { summary, fuses } = await runScenario(phasesScenario(phases));
  const [site] = summary.locations;
  const share = (site?.deliveredWh ?? Number.NaN) / bestWh(phases);
  return { share, starts: site?.startsPerSession, violations: summary.violations, fuses };
}

describe('The optimal schedule for cars with one phase', () => {
  it("is bounded by the cars' demand, the limit and the fuse of their phase", () => {
    // Each car is there twice for 50 minutes in two hours.
    const one = { ...EIGHT, cars: 1 };
    expect(bestWh(one)).toBeCloseTo((7360 * 100) / 60, 6);
    expect(bestWh({ ...one, limitKw: 3 })).toBeCloseTo((3000 * 100) / 60, 6);
    expect(bestWh({ ...one, fuseA: 16 })).toBeCloseTo((3680 * 100) / 60, 6);
    const three = { ...EIGHT, cars: 3, fuseA: 32 };
    expect(bestWh({ ...three, wiring: 'onL1' })).toBeLessThan(bestWh(three) / 2);
  });
});

describe('Cars with one phase at three-phase connectors', () => {
  it.each([EIGHT, TWELVE])(
    'receive the available power if grants end with the session: $cars cars',
    async (phases) => {
      const reallocated = await played(phases);
      expect(reallocated).toMatchObject({ violations: 0 });
      expect(reallocated.share).toBeGreaterThan(0.97);
      expect(reallocated.starts).toBeLessThanOrEqual(1.2);
      const reserved = await played({ ...phases, endsWithSession: false });
      expect(reserved.share).toBeLessThan(0.6);
    },
  );

  it('on L1 use the full 63 A of that phase, and never more', async () => {
    const { share, fuses, violations } = await played({ ...TWELVE, limitKw: 100, wiring: 'onL1', fuseA: 63 });
    expect(violations).toBe(0);
    expect(share).toBeGreaterThan(0.95);
    const [l1, l2, l3] = fuses;
    expect(l1).toMatchObject({ locationId: 'quay', name: 'L1 of the connection', carriesA: 63, overAs: 0 });
    expect(l1?.mostA).toBeGreaterThan(62);
    expect(l1?.mostA).toBeLessThanOrEqual(63);
    expect([l2?.mostA, l3?.mostA]).toEqual([0, 0]);
  });
});

describe('Cars with three phases, below a limit of less than 6 A per phase and car', () => {
  const SIX = { ...EIGHT, cars: 6, limitKw: 10, carPhases: 3 } as const;

  it('all charge on one phase with phase switching, and in rotation without it', async () => {
    const switched = await played({ ...SIX, switchesPhases: true });
    expect(switched).toMatchObject({ violations: 0 });
    expect(switched.share).toBeGreaterThan(0.9);
    expect(switched.starts).toBeGreaterThanOrEqual(1);
    // Some cars leave before their turn.
    expect((await played(SIX)).starts).toBeLessThan(1);
  });

  it('receive none of 3.6 kW without phase switching', async () => {
    const one = { ...SIX, cars: 1, limitKw: 3.6 };
    expect((await played({ ...one, switchesPhases: true })).share).toBeGreaterThan(0.9);
    expect((await played(one)).share).toBe(0);
  });
});
