// What a grid operator ordered lately shortens leases also where the service restarts, so that its next order is followed as soon.
import { afterEach, expect, it } from 'vitest';
import { createEnforcementRig, type EnforcementRig } from './enforcement-rig.js';

const OPERATOR = {
  operatorUuid: 'grid',
  mqttSecretHash: '',
  failsafeKw: 20,
  failsafeMinMs: 7_200_000,
  missingAfterMs: 86_400_000,
};
/** Leases last 60 s, and one and a half heartbeats where an order may come. */
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

/** How long a charger that is cut off draws what it was told. */
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
