// The fuse of a location's connection, from the provisioning file to what chargers draw: through a cut, a restart, another rating.
import { afterEach, expect, it } from 'vitest';
import { createEnforcementRig, type EnforcementRig } from './enforcement-rig.js';

let rig: EnforcementRig;
afterEach(() => rig.stop());

/** Of each phase: all three are loaded alike. */
const drawnA = () => rig.chargers.reduce((sum, charger) => sum + charger.drawnA(), 0);

async function passUnder(fuseA: number, seconds: number): Promise<void> {
  for (let i = 0; i < seconds; i++) {
    await rig.pass(1);
    expect(drawnA()).toBeLessThanOrEqual(fuseA + 1e-6);
  }
}

it('63 A are all that chargers draw of a limit that would let them draw more, and nearly all of that is used', async () => {
  rig = await createEnforcementRig([
    {
      locationId: 'quay',
      permanentLimitKw: 200,
      connection: { currentA: [63, 63, 63], voltageV: 230 },
      chargers: [{}, {}, {}],
    },
  ]);
  await passUnder(63, 90);
  expect(drawnA()).toBeGreaterThan(61);
  const [first] = rig.chargers;
  if (first === undefined) throw new Error('no charger');
  await rig.cut(first);
  await passUnder(63, 100);
  await rig.restartService(5);
  await passUnder(63, 60);
  await rig.restore(first);
  await passUnder(63, 60);
  expect(drawnA()).toBeGreaterThan(61);
});
