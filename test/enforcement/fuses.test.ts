// The fuse of a location's connection, from the provisioning file to the draw: through a cut, a restart and a changed
// rating.
import { afterEach, expect, it } from 'vitest';
import { locationLiveSchema } from '../../src/features/live-contract.js';
import { bodyOf } from '../service/answers.js';
import { createEnforcementRig, type EnforcementRig } from './enforcement-rig.js';
import { connectNaiveCharger } from './naive-charger.js';

let rig: EnforcementRig;
afterEach(() => rig.stop());

/** Draw on each phase, because all three carry the same load. */
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

it('a connector of one phase that reports current on another has its maximum reserved on all of them, and an alarm', async () => {
  const single = { phases: 1, rotation: 'R', failsafeA: 0, isAbsent: true } as const;
  rig = await createEnforcementRig([
    {
      locationId: 'quay',
      permanentLimitKw: 200,
      connection: { currentA: [63, 63, 63], voltageV: 230 },
      chargers: [single, {}, {}],
    },
  ]);
  const others = rig.chargers.filter(({ controllerUuid }) => controllerUuid !== 'quay-1');
  await rig.pass(90);
  const naive = await connectNaiveCharger(rig, 'quay', 'quay-1');
  try {
    await naive.state({ phases: 1, failsafeA: 0, keepsThen: true });
    const reservedA = async () => {
      const { fuses } = bodyOf(await rig.call('GET', '/locations/quay/live'), locationLiveSchema);
      return fuses[0]?.phases.map((phase) => phase.reservedA) ?? [];
    };
    /** Draws 6 A on `phases` phases, or its limit if that is lower. */
    const draws = async (phases: number) => {
      for (let beat = 0; beat < 6; beat++) {
        const { epoch, seq, limitA } = naive.limits.at(-1) ?? { epoch: 0, seq: 0, limitA: 0 };
        const currentA = [0, 1, 2].map((own) => (own < phases ? Math.min(6, limitA) : 0));
        const powerW = 230 * currentA.reduce((sum, phaseA) => sum + phaseA, 0);
        await naive.meter(0, { currentA, powerW, epoch, seq, limitA });
        await rig.pass(5);
      }
    };
    await draws(1);
    const [l1 = 0, l2 = 0] = await reservedA();
    expect(l1).toBeGreaterThan(l2);
    expect(await rig.alarms('quay', 'NON_COMPLIANT')).toEqual([]);
    await draws(2);
    expect(await rig.alarms('quay', 'NON_COMPLIANT')).toMatchObject([
      { controllerUuid: 'quay-1', endedAt: null },
    ]);
    // The charger has 32 A reserved on each phase, and the others have made room.
    const leftA = () => others.reduce((sum, charger) => sum + charger.drawnA(), 0);
    await draws(2);
    expect(leftA()).toBeLessThanOrEqual(31);
    for (const each of await reservedA()) expect(each).toBeGreaterThanOrEqual(32);
  } finally {
    await naive.stop();
  }
});
