// Chargers that switch phases, on a whole service: one phase instead of a pause, shown, kept over a restart, ended for
// a lock.
import { afterEach, describe, expect, it } from 'vitest';
import { HUNGRY } from '../../sim/charger/traffic.js';
import type { ChargerTraits } from '../../sim/charger/traits.js';
import { locationLiveSchema } from '../../src/features/live-contract.js';
import { bodyOf } from '../service/answers.js';
import { createEnforcementRig, type EnforcementRig } from './enforcement-rig.js';

let rig: EnforcementRig;
afterEach(() => rig.stop());

const live = async () => bodyOf(await rig.call('GET', '/locations/quay/live'), locationLiveSchema);

/** Three-phase cars that want more than the limit. */
function charger(traits: Partial<ChargerTraits> = {}) {
  const traffic = { ...HUNGRY, singlePhaseShare: 0 };
  const able = { endsWithSession: true, switchesPhases: true, ...traits };
  return { phases: 3, failsafeA: 0, rotation: 'STR', traffic, traits: able } as const;
}

async function start(permanentLimitKw: number, ...chargers: readonly ReturnType<typeof charger>[]) {
  const connection = { currentA: [63, 63, 63], voltageV: 230 } as const;
  rig = await createEnforcementRig([{ locationId: 'quay', permanentLimitKw, connection, chargers }]);
}

describe('A charger that can switch phases', () => {
  it('charges on one if three would be more than there is, shows it, and on three again once there is enough', async () => {
    await start(3.6, charger());
    await rig.pass(120);
    expect(rig.powerKw('quay')).toBeGreaterThan(3.3);
    const { connectors, fuses } = await live();
    expect(connectors).toMatchObject([{ limitPhases: 1, isPhaseSwitched: true }]);
    expect(connectors[0]?.explanation).toContain(
      'The charger uses L2 only, because its limit orders that: on more phases the car would need at least 4.1 kW.',
    );
    expect(fuses[0]?.phases).toMatchObject([{ reservedA: 0 }, { phase: 'L2' }, { reservedA: 0 }]);
    expect(fuses[0]?.phases[1]?.reservedA).toBeGreaterThan(14);
    rig.limitOf('quay').becomes(11);
    await rig.call('PUT', '/locations/quay/limit', { limitKw: 11 });
    await rig.pass(60);
    // A switch wears the contactor, so the next one waits for ten minutes.
    expect((await live()).connectors).toMatchObject([{ isPhaseSwitched: true }]);
    await rig.pass(660);
    expect((await live()).connectors).toMatchObject([{ limitPhases: null, isPhaseSwitched: false }]);
    expect(rig.powerKw('quay')).toBeGreaterThan(10.5);
  });

  it('goes on through a restart of the service, on one phase', async () => {
    await start(3.6, charger());
    await rig.pass(120);
    const before = rig.charger('quay-1').energyWh();
    await rig.restartService(5);
    await rig.pass(55);
    expect(rig.charger('quay-1').energyWh() - before).toBeGreaterThan((0.95 * 3_400) / 60);
    expect((await live()).connectors).toMatchObject([{ limitPhases: 1, isPhaseSwitched: true }]);
  });

  it('uses all phases while a profile locks it, however little there is for the others', async () => {
    await start(6, charger(), charger());
    // One phase serves no more power and only avoids a pause, so cars rotate for ten minutes first.
    await rig.pass(900);
    expect((await live()).connectors).toMatchObject([{ limitPhases: 1 }, { limitPhases: 1 }]);
    await rig.lock('quay-1', 4.5);
    await rig.pass(120);
    expect((await live()).connectors).toMatchObject([
      { limitPhases: null, reason: 'lock', limitA: 6.5 },
      { limitPhases: 1, isPhaseSwitched: true },
    ]);
  });

  it('that lets its car go on on all phases is reserved on all of them, and not switched again', async () => {
    await start(3.6, charger({ misbehaviours: ['keep-phases'] }));
    // The charger keeps all phases closed against its duty, so its draw exceeds the limit for a time.
    rig.limitOf('quay').becomes(1000);
    await rig.until('it is found out', () => rig.powerKw('quay') > 3.6, 60);
    await rig.pass(120);
    expect((await live()).connectors).toMatchObject([
      { limitPhases: null, isPhaseSwitched: false, reason: 'paused' },
    ]);
    expect(rig.powerKw('quay')).toBe(0);
  });

  it('and does not end its limits with the session gets no phases in its limits', async () => {
    await start(3.6, charger({ endsWithSession: false }));
    await rig.pass(120);
    expect((await live()).connectors).toMatchObject([{ limitPhases: null, reason: 'paused', limitA: 0 }]);
  });
});
