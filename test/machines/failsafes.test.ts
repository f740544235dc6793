// The sum of all fail-safes by provisioning alone, before any charger has reported.
import { describe, expect, it } from 'vitest';
import { type FailsafeShape, failsafeNeedOf } from '../../machines/power/failsafes.js';
import { Fuses, NO_FUSES } from '../../machines/power/fuses.js';

const THREE: FailsafeShape = { phases: 3, voltageV: 230, maxCurrentA: 32, failsafeA: 6 };

describe('The power for the fail-safes of a site', () => {
  it('is their current on all phases at the highest voltage, and no more than a connector can take', () => {
    expect(failsafeNeedOf([THREE], NO_FUSES)).toEqual({ neededW: 6 * 3 * 253, overloaded: [] });
    expect(failsafeNeedOf([{ ...THREE, failsafeA: 40 }], NO_FUSES).neededW).toBe(32 * 3 * 253);
    expect(failsafeNeedOf([{ ...THREE, failsafeA: 0 }], NO_FUSES).neededW).toBe(0);
  });

  it('loads each fuse on the way to the grid, on the phases that a connector may use', () => {
    const fuses = new Fuses({ currentA: [20, 20, 20], voltageV: 230 }, [
      { name: 'hall', currentA: [10, 20, 20], parent: null },
    ]);
    const single: FailsafeShape = { ...THREE, phases: 1, rotation: 'R', feeder: 'hall' };
    const { overloaded } = failsafeNeedOf([single, { ...THREE, feeder: 'hall' }, THREE], fuses);
    expect(overloaded).toEqual([
      { circuitPhase: { feeder: 'hall', phase: 'L1', capacityTenthsA: 100 }, neededTenthsA: 120 },
    ]);
  });
});
