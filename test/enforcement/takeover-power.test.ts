// A service that starts on the data of another one continues its work: cars keep their power.

import { afterEach, expect, it } from 'vitest';
import { LONGEST_TURN_MS } from '../../machines/power/rotation.js';
import { HUNGRY, type Traffic } from '../../sim/charger/traffic.js';
import { createEnforcementRig, type EnforcementRig } from './enforcement-rig.js';
import type { ChargerPlan } from './rig-charger.js';

const LIMIT_KW = 120;
const DOWN_S = 8;
const BACK_WITHIN_S = 10;
/** Longer than the leases from before the start, and than the time before a car is lowered for its low draw. */
const WATCHED_S = 90;
const SHARE = 0.95;

let rig: EnforcementRig;
afterEach(() => rig.stop());

function drawing(currentA: number): Traffic {
  return { ...HUNGRY, maxCurrentsA: [currentA] };
}

function several(count: number, traffic: Traffic): readonly ChargerPlan[] {
  return Array.from({ length: count }, () => ({ traffic }));
}

/** A full car that stays. */
const FULL: Traffic = { ...HUNGRY, batteryKwh: [0.02, 0.02] };
const NOBODY: Traffic = { ...HUNGRY, firstArrivalS: [9e6, 9e6] };
/** Cars that leave a part of a fair share, cars that want all of it, full cars and a free connector. */
const MIXED = [...several(6, drawing(9)), ...several(6, HUNGRY), ...several(2, FULL), ...several(1, NOBODY)];

function allowedKw(): number {
  return rig.chargers.reduce((sum, charger) => sum + 0.69 * charger.heldA(), 0);
}

/** From `BACK_WITHIN_S` after a start on, limits and draw are as high as before it. */
async function expectAllBack(locationIds: readonly string[]): Promise<void> {
  const powerKw = () => locationIds.reduce((sum, id) => sum + rig.powerKw(id), 0);
  const before = { allowedKw: allowedKw(), powerKw: powerKw() };
  expect(before.powerKw).toBeGreaterThan(100);
  await rig.restartService(DOWN_S);
  await rig.pass(BACK_WITHIN_S);
  for (let s = BACK_WITHIN_S; s <= WATCHED_S; s++) {
    expect(powerKw(), `${s} s after the start`).toBeGreaterThan(SHARE * before.powerKw);
    expect(allowedKw(), `${s} s after the start`).toBeGreaterThan(SHARE * before.allowedKw);
    await rig.pass(1);
  }
}

it('has the allowed power drawn again within 10 s of its start, and keeps it', async () => {
  rig = await createEnforcementRig([{ locationId: 'quay', permanentLimitKw: LIMIT_KW, chargers: MIXED }]);
  await rig.pass(300);
  await expectAllBack(['quay']);
});

it('the same where two sites share a cap', async () => {
  const chargers = [
    ...several(3, drawing(9)),
    ...several(3, HUNGRY),
    ...several(1, FULL),
    ...several(1, NOBODY),
  ];
  const sites = ['quay', 'pier'];
  rig = await createEnforcementRig(
    sites.map((locationId) => ({ locationId, permanentLimitKw: LIMIT_KW, chargers })),
  );
  rig.holdTogether(sites, LIMIT_KW);
  const cluster = { name: 'both', locationIds: sites, limitKw: LIMIT_KW };
  expect(await rig.call('POST', '/clusters', cluster)).toMatchObject({ status: 201 });
  await rig.pass(300);
  await expectAllBack(sites);
});

it('lets a car that was paused because others wanted all the power have its next turn', async () => {
  // 12 kW carry the 6 A of two cars, and three cars want them.
  const chargers = several(3, HUNGRY).map((plan) => ({ ...plan, failsafeA: 0 }));
  rig = await createEnforcementRig([{ locationId: 'quay', permanentLimitKw: 12, chargers }]);
  await rig.pass(200);
  const paused = rig.chargers.find((charger) => charger.heldA() === 0);
  expect(paused).toBeDefined();
  await rig.restartService(DOWN_S);
  await rig.until('it has its turn', () => (paused?.drawnA() ?? 0) >= 6, LONGEST_TURN_MS / 1000 + 60, 5);
});
