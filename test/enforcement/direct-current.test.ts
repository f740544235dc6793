// DC chargers on a running service. Their grid power stays within limit and fuse next to AC chargers, and they have no
// 6 A minimum.
import { afterEach, describe, expect, it } from 'vitest';
import { tenthsOfDcW } from '../../machines/values/units.js';
import { locationLiveSchema } from '../../src/features/live-contract.js';
import { bodyOf } from '../service/answers.js';
import { createEnforcementRig, type EnforcementRig } from './enforcement-rig.js';

let rig: EnforcementRig;
afterEach(() => rig.stop());

const DC = { maxPowerKw: 50, minPowerKw: 2, efficiency: 0.9 };
const DC_CHARGER = {
  dc: DC,
  maxCurrentA: tenthsOfDcW(50_000, { voltageV: 230, dc: DC }) / 10,
  failsafeA: 0,
};

const drawnA = () => rig.chargers.reduce((sum, charger) => sum + charger.drawnA(), 0);
const live = async () => bodyOf(await rig.call('GET', '/locations/quay/live'), locationLiveSchema);

async function passUnder(fuseA: number, seconds: number): Promise<void> {
  for (let i = 0; i < seconds; i++) {
    await rig.pass(1);
    expect(drawnA()).toBeLessThanOrEqual(fuseA + 1e-6);
  }
}

describe('DC chargers', () => {
  it('take from the grid no more than the limit, though their cars get less', async () => {
    rig = await createEnforcementRig([
      { locationId: 'quay', permanentLimitKw: 60, chargers: [DC_CHARGER, DC_CHARGER, {}] },
    ]);
    await rig.pass(90);
    // The rig fails if more than 60 kW ever flow.
    expect(rig.powerKw('quay')).toBeGreaterThan(58);
    const [first] = rig.chargers;
    const toCarW = first?.charger.readings()[0]?.powerW ?? 0;
    expect(toCarW).toBeCloseTo(0.9 * (first?.charger.physicalPowerW() ?? 0), -1);
    const { connectors, actualKw } = await live();
    expect(connectors.map(({ powerType }) => powerType)).toEqual(['DC', 'DC', 'AC']);
    expect(actualKw).toBeCloseTo(rig.powerKw('quay'), 1);
    rig.limitOf('quay').becomes(20, 15);
    await rig.call('PUT', '/locations/quay/limit', { limitKw: 20 });
    await rig.pass(40);
    expect(rig.powerKw('quay')).toBeGreaterThan(18.5);
  });

  it('run on less than 6 A, down to the least they can give, and pause below that', async () => {
    rig = await createEnforcementRig([{ locationId: 'quay', permanentLimitKw: 3.5, chargers: [DC_CHARGER] }]);
    await rig.pass(60);
    expect(rig.powerKw('quay')).toBeGreaterThan(3.3);
    expect(rig.charger('quay-1').heldA()).toBeLessThan(6);
  });

  it('load all phases of a fuse alike, through a cut and a restart', async () => {
    rig = await createEnforcementRig([
      {
        locationId: 'quay',
        permanentLimitKw: 200,
        connection: { currentA: [100, 80, 100], voltageV: 230 },
        chargers: [DC_CHARGER, {}, DC_CHARGER],
      },
    ]);
    await passUnder(80, 90);
    expect(drawnA()).toBeGreaterThan(78);
    const [first] = rig.chargers;
    if (first === undefined) throw new Error('no charger');
    await rig.cut(first);
    await passUnder(80, 100);
    await rig.restartService(5);
    await passUnder(80, 60);
    await rig.restore(first);
    await passUnder(80, 60);
    expect(drawnA()).toBeGreaterThan(78);
  });

  it('that draw more than their limits are noticed by their draw from the grid', async () => {
    rig = await createEnforcementRig([
      {
        locationId: 'quay',
        permanentLimitKw: 30,
        chargers: [{ ...DC_CHARGER, traits: { misbehaviours: ['ignore-limits'] } }],
      },
    ]);
    rig.limitOf('quay').becomes(1000);
    await rig.until('it draws its maximum', () => rig.powerKw('quay') > 55, 30);
    await rig.pass(30);
    expect(await rig.alarms('quay', 'NON_COMPLIANT')).toMatchObject([
      { controllerUuid: 'quay-1', endedAt: null },
    ]);
  });
});
