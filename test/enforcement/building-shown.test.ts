// The history of a building that takes power from the chargers: its power and its reserve, minute by minute.
import { afterEach, expect, it } from 'vitest';
import { locationPowerSchema } from '../../src/features/power-history/contract.js';
import { hashSecret } from '../../src/secrets.js';
import { bodyOf } from '../service/answers.js';
import { createEnforcementRig, type EnforcementRig } from './enforcement-rig.js';

let rig: EnforcementRig;
afterEach(() => rig.stop());

const points = async (locationId: string) =>
  bodyOf(await rig.call('GET', `/locations/${locationId}/power`), locationPowerSchema).points;

/** The building takes `powerW` for a minute. */
async function takesForAMinute(powerW: number): Promise<void> {
  for (let passedS = 0; passedS < 60; passedS += 10) {
    const reading = { at: new Date(rig.clock.nowMs()).toISOString(), powerW };
    expect((await rig.call('PUT', '/locations/quay/site-meter', reading)).status).toBe(200);
    await rig.pass(10);
  }
}

it('keeps the building load and its reserve, and nothing without a meter', async () => {
  const siteMeter = {
    meterUuid: 'main',
    mqttSecretHash: hashSecret('only the meter knows this'),
    covers: 'building' as const,
    maxBuildingKw: 60,
    reserveKw: [2, 2] as const,
    pvRaisesHeadroom: false,
  };
  const connection = { currentA: [126, 126, 126] as const, voltageV: 230 };
  rig = await createEnforcementRig([
    { locationId: 'quay', permanentLimitKw: 500, connection, siteMeter, chargers: [{}] },
    { locationId: 'pier', permanentLimitKw: 50, chargers: [{}] },
  ]);
  await takesForAMinute(20_000);
  await takesForAMinute(20_000);
  await takesForAMinute(45_000);
  await rig.pass(1);
  const [, , before, after] = [null, ...(await points('quay'))];
  expect(before?.building).toEqual({ meanKw: 20, maxKw: 20, meanReserveKw: 2 });
  expect(after?.building).toEqual({ meanKw: 45, maxKw: 45, meanReserveKw: 2 });
  const lowest = await points('pier');
  expect(lowest.length).toBeGreaterThan(0);
  expect(lowest.map(({ building }) => building)).toEqual(lowest.map(() => null));
});
