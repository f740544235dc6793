// A charger that vanishes while its car charges counts with its possible draw at most, and is marked as an estimate.
import { afterEach, describe, expect, it } from 'vitest';
import { clusterDetailSchema, clusterSchema } from '../../src/features/clusters/contract.js';
import { locationLiveSchema } from '../../src/features/live-contract.js';
import { locationListSchema } from '../../src/features/locations/contract.js';
import { locationPowerSchema } from '../../src/features/power-history/contract.js';
import { bodyOf } from '../service/answers.js';
import { createEnforcementRig, type EnforcementRig } from './enforcement-rig.js';

/** Three phases of 230 V at the fail-safe of 6 A. */
const FAILSAFE_KW = 4.14;

let rig: EnforcementRig;
afterEach(() => rig.stop());

const live = async () => bodyOf(await rig.call('GET', '/locations/quay/live'), locationLiveSchema);
const power = async () => bodyOf(await rig.call('GET', '/locations/quay/power'), locationPowerSchema).points;

/** Two chargers draw under a cluster of 21 kW. Then the first one is cut off. */
async function vanish(failsafeA: number): Promise<string> {
  const chargers = [{ failsafeA }, { failsafeA }];
  rig = await createEnforcementRig([{ locationId: 'quay', permanentLimitKw: 21, chargers }]);
  const body = { name: 'All', locationIds: ['quay'], limitKw: 21 };
  const { clusterId } = bodyOf(await rig.call('POST', '/clusters', body), clusterSchema, 201);
  await rig.until('both draw', () => rig.powerKw('quay') > 0.95 * 21, 200);
  await rig.pass(60);
  await rig.cut(rig.charger('quay-1'));
  await rig.pass(1);
  return clusterId;
}

describe('a charger that vanishes while its car charges', () => {
  it('counts with its last reading while its lease lasts, then with its fail-safe, marked wherever it is shown', async () => {
    const clusterId = await vanish(6);
    const before = await live();
    const [gone] = before.connectors;
    expect(gone).toMatchObject({ link: 'offline', isEstimated: true });
    expect(gone?.actualKw).toBeGreaterThan(9);
    expect(before.estimatedKw).toBe(gone?.actualKw);
    await rig.pass(300);
    const after = await live();
    expect(after.connectors).toMatchObject([
      { actualKw: FAILSAFE_KW, reservedKw: FAILSAFE_KW, isEstimated: true },
      { isEstimated: false },
    ]);
    expect(after.estimatedKw).toBe(FAILSAFE_KW);
    expect(after.actualKw).toBeLessThanOrEqual(21);
    expect(after.actualKw).toBeGreaterThan(FAILSAFE_KW + 0.9 * (21 - FAILSAFE_KW));
    const { locations } = bodyOf(await rig.call('GET', '/locations'), locationListSchema);
    expect(locations).toMatchObject([{ actualKw: after.actualKw, estimatedKw: FAILSAFE_KW }]);
    const { liveStatus } = bodyOf(await rig.call('GET', `/clusters/${clusterId}`), clusterDetailSchema);
    expect(liveStatus).toMatchObject({
      actualTotalKw: after.actualKw,
      estimatedTotalKw: FAILSAFE_KW,
      withinLimit: true,
      locations: [{ actualKw: after.actualKw, estimatedKw: FAILSAFE_KW }],
    });
    const minutes = await power();
    expect(minutes[0]?.estimatedKw).toBe(null);
    expect(minutes.at(-1)).toMatchObject({ estimatedKw: FAILSAFE_KW, limitKw: 21, meanLimitKw: 21 });
    for (const { meanKw, meanLimitKw } of minutes) expect(meanKw).toBeLessThanOrEqual(meanLimitKw);
    await rig.restore(rig.charger('quay-1'));
    await rig.pass(15);
    expect(await live()).toMatchObject({ estimatedKw: null, connectors: [{ isEstimated: false }, {}] });
  });

  it('counts with nothing after its lease where it falls back to 0, and is an estimate all the same', async () => {
    await vanish(0);
    await rig.pass(300);
    const after = await live();
    expect(after.connectors[0]).toMatchObject({ actualKw: 0, isEstimated: true });
    expect(after.estimatedKw).toBe(0);
    expect((await power()).at(-1)).toMatchObject({ estimatedKw: 0 });
  });

  it('counts alike after a restart of the service that receives nothing of it', async () => {
    await vanish(6);
    await rig.pass(300);
    await rig.restartService(5);
    await rig.pass(200);
    const after = await live();
    // Its voltage was not measured since the start, so the same current counts with 10 % more power.
    const countedKw = 1.1 * FAILSAFE_KW;
    expect(after.connectors[0]?.actualKw).toBeCloseTo(countedKw, 9);
    expect(after).toMatchObject({ estimatedKw: after.connectors[0]?.actualKw });
    expect((await power()).at(-1)).toMatchObject({ estimatedKw: after.estimatedKw });
  });
});
