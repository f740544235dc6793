// Throttled connectors in the live view and in the metrics, while cars come and limits move.
import { afterEach, expect, it } from 'vitest';
import { HUNGRY, type Traffic } from '../../sim/charger/traffic.js';
import { locationLiveSchema } from '../../src/features/live-contract.js';
import { bodyOf } from '../service/answers.js';
import { createEnforcementRig, type EnforcementRig } from './enforcement-rig.js';

let rig: EnforcementRig;
afterEach(() => rig.stop());

async function throttles(): Promise<readonly string[]> {
  const { connectors } = bodyOf(await rig.call('GET', '/locations/quay/live'), locationLiveSchema);
  return connectors.map(({ throttle }) => throttle);
}

it("a connector is free, limited, at its minimum or paused by its car's share, and links go with its messages", async () => {
  const small: Traffic = { ...HUNGRY, maxCurrentsA: [10] };
  rig = await createEnforcementRig([
    { locationId: 'quay', permanentLimitKw: 60, chargers: [{}, { traffic: small }] },
  ]);
  await rig.until('both charge', () => rig.powerKw('quay') > 25, 120);
  expect(await throttles()).toEqual(['free', 'free']);
  await rig.limitLocation('quay', 16);
  rig.limitOf('quay').becomes(16, 15);
  await rig.pass(60);
  expect((await throttles())[0]).toBe('limited');
  await rig.limitLocation('quay', 8.3, { priority: 1 });
  rig.limitOf('quay').becomes(8.3, 15);
  await rig.pass(60);
  expect(await throttles()).toEqual(['minimum', 'minimum']);
  await rig.limitLocation('quay', 4.3, { priority: 2 });
  rig.limitOf('quay').becomes(4.3, 15);
  await rig.pass(120);
  expect([...(await throttles())].sort()).toEqual(['minimum', 'paused']);
  const { connectors } = bodyOf(await rig.call('GET', '/locations/quay/live'), locationLiveSchema);
  expect(connectors.map(({ link }) => link)).toEqual(['online', 'online']);
  await rig.limitLocation('quay', 60, { priority: 3 });
  rig.limitOf('quay').becomes(60);
  await rig.until('both have all they want', () => rig.powerKw('quay') > 25, 300);
  expect(await throttles()).toEqual(['free', 'free']);
});

it('a car that does not wake up charges on where only one can, and nothing had held it back before', async () => {
  rig = await createEnforcementRig([
    { locationId: 'quay', permanentLimitKw: 60, chargers: [{}, { neverPause: true }] },
  ]);
  await rig.until('both charge with all they want', () => rig.powerKw('quay') > 43, 120);
  await rig.limitLocation('quay', 4.2);
  rig.limitOf('quay').becomes(4.2, 15);
  await rig.until('one is paused', () => rig.chargers.some((charger) => charger.drawnA() === 0), 60);
  expect(await throttles()).toEqual(['paused', 'minimum']);
});
