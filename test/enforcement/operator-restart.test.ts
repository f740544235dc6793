// A recent order of a grid operator shortens leases also after a restart, so that the next order is followed in time
// (R51).
import { afterEach, expect, it } from 'vitest';
import { createEnforcementRig, type EnforcementRig } from './enforcement-rig.js';

const OPERATOR = {
  operatorUuid: 'grid',
  mqttSecretHash: '',
  failsafeKw: 20,
  failsafeMinMs: 7_200_000,
  missingAfterMs: 86_400_000,
};
/** Leases last one and a half heartbeats while orders are expected, and otherwise 60 s. */
const SHORT_S = 16;
const MINUTE_S = 60;
const LIMIT_KW = 60;

let rig: EnforcementRig;
afterEach(() => rig.stop());

async function order(limitKw: number | undefined): Promise<void> {
  const sentAt = new Date(rig.clock.nowMs()).toISOString();
  const body = { source: 'grid', sentAt, isActive: limitKw !== undefined, limitKw };
  expect((await rig.call('PUT', '/locations/quay/operator-limit', body)).status).toBe(200);
  await rig.settle();
}

/** Seconds for which a charger that is cut off keeps its limit. */
async function heldForS(): Promise<number> {
  const charger = rig.charger('quay-1');
  await rig.cut(charger);
  const heldS = await rig.until('its lease ends', () => !charger.holdsLease(), 2 * MINUTE_S);
  await rig.restore(charger);
  return heldS;
}

it('expects orders for an hour after the last limit, over restarts too, and then no more', async () => {
  rig = await createEnforcementRig([
    { locationId: 'quay', permanentLimitKw: LIMIT_KW, operator: OPERATOR, chargers: [{}, {}] },
  ]);
  await rig.pass(30);
  await order(20);
  await rig.pass(30);
  await order(undefined);
  await rig.pass(MINUTE_S, 5);
  await rig.restartService(8);
  await rig.pass(MINUTE_S, 5);
  expect(await heldForS()).toBeLessThanOrEqual(SHORT_S);
  await rig.pass(55 * MINUTE_S, 30);
  expect(await heldForS()).toBeLessThanOrEqual(SHORT_S);
  await rig.pass(10 * MINUTE_S, 30);
  await rig.restartService(8);
  await rig.pass(MINUTE_S, 5);
  expect(await heldForS()).toBeGreaterThan(2 * SHORT_S);
});
