// Unused phases on a whole service: reallocated if grants end with the session, shown, and kept over a restart.
import { afterEach, describe, expect, it } from 'vitest';
import { HUNGRY } from '../../sim/charger/traffic.js';
import { locationLiveSchema } from '../../src/features/live-contract.js';
import { bodyOf } from '../service/answers.js';
import { createEnforcementRig, type EnforcementRig } from './enforcement-rig.js';

let rig: EnforcementRig;
afterEach(() => rig.stop());

const live = async () => bodyOf(await rig.call('GET', '/locations/quay/live'), locationLiveSchema);

/** A three-phase connector for one-phase cars. */
function charger(endsWithSession: boolean, rotation: 'RST' | 'STR') {
  const traffic = { ...HUNGRY, singlePhaseShare: 1 };
  return { phases: 3, failsafeA: 0, rotation, traffic, traits: { endsWithSession } } as const;
}

describe('Cars of one phase at connectors of three', () => {
  it('use the power of a site if their grants end with the session, and each shows its reserved phase', async () => {
    const chargers = [charger(true, 'RST'), charger(true, 'STR')];
    rig = await createEnforcementRig([
      {
        locationId: 'quay',
        permanentLimitKw: 14,
        connection: { currentA: [40, 40, 40], voltageV: 230 },
        chargers,
      },
    ]);
    await rig.pass(90);
    expect(rig.powerKw('quay')).toBeGreaterThan(13.4);
    const { connectors, fuses } = await live();
    expect(connectors.map(({ explanation }) => explanation)).toMatchObject([
      expect.stringContaining('Current is reserved on L1 only: the car uses no other phase'),
      expect.stringContaining('Current is reserved on L2 only: the car uses no other phase'),
    ]);
    expect(fuses[0]?.phases[2]).toMatchObject({ phase: 'L3', reservedA: 0 });
    await rig.restartService(5);
    await rig.pass(15);
    expect(rig.powerKw('quay')).toBeGreaterThan(13.4);
  });

  it('are reserved on all phases once one uses more and its charger does not stop it', async () => {
    const traffic = { ...HUNGRY, singlePhaseShare: 1, morePhasesShare: 1 };
    const traits = { endsWithSession: true, misbehaviours: ['keep-phases'] } as const;
    const failing = { phases: 3, failsafeA: 0, rotation: 'STR', traffic, traits } as const;
    const chargers = [charger(true, 'RST'), failing];
    rig = await createEnforcementRig([{ locationId: 'quay', permanentLimitKw: 14, chargers }]);
    // The charger keeps all phases closed against its duty, so its draw exceeds the limit for a time.
    rig.limitOf('quay').becomes(1000);
    await rig.pass(9);
    expect((await live()).reservedKw).toBeLessThanOrEqual(14);
    await rig.until('the car uses all phases', () => rig.powerKw('quay') > 15, 600);
    await rig.pass(2);
    expect((await live()).reservedKw).toBeGreaterThan(20);
    await rig.pass(15);
    const { connectors, reservedKw } = await live();
    expect(reservedKw).toBeLessThanOrEqual(14);
    expect(connectors).toMatchObject([{ limitPhases: 1 }, { limitPhases: null }]);
    expect(rig.powerKw('quay')).toBeLessThanOrEqual(14);
  });

  it('are reserved on all phases if their chargers do not report so', async () => {
    const chargers = [charger(false, 'RST'), charger(false, 'STR')];
    rig = await createEnforcementRig([{ locationId: 'quay', permanentLimitKw: 14, chargers }]);
    await rig.pass(90);
    expect(rig.powerKw('quay')).toBeLessThan(5);
    for (const { explanation } of (await live()).connectors) expect(explanation).not.toContain('only');
  });
});
