// A service that is short of processor time. Raises wait first, then reads are refused. Limits hold and leases go on.
import { afterEach, expect, it } from 'vitest';
import { refusalOf } from '../service/answers.js';
import { createEnforcementRig, type EnforcementRig } from './enforcement-rig.js';

/** Delay of everything that is due. */
const LATE_MS = 800;

let rig: EnforcementRig;
afterEach(() => rig.stop());

/** Passes `seconds` in which everything that is due is late by LATE_MS. */
async function starve(seconds: number): Promise<void> {
  for (let leftMs = seconds * 1000; leftMs > 0; leftMs -= 1000 + LATE_MS) {
    rig.clock.stall(1000 + LATE_MS);
    await rig.settle();
  }
}

const heldA = () => rig.chargers.map((charger) => charger.heldA());

it('a starved service raises no limit, then refuses requests that only read, and goes on with decreases, renewals and writes', async () => {
  rig = await createEnforcementRig([{ locationId: 'quay', permanentLimitKw: 60, chargers: [{}, {}] }]);
  await rig.until('both charge with all they want', () => rig.powerKw('quay') > 43, 120);
  await rig.limitLocation('quay', 16, { lastsS: 60 });
  rig.limitOf('quay').becomes(16, 15);
  await rig.until('both are lowered', () => rig.powerKw('quay') <= 16, 30);
  const lowered = heldA();

  await starve(8);
  expect(await rig.call('GET', '/locations/quay/limits')).toMatchObject({ status: 200 });
  rig.limitOf('quay').becomes(60);
  await starve(60);
  expect(heldA()).toEqual(lowered);
  const refused = await rig.call('GET', '/locations/quay/limits');
  expect(refusalOf(refused, 'SERVICE_UNAVAILABLE')).toContain('short of processor time');
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(await rig.call('GET', '/stream')).toMatchObject({ status: 503 });
  expect(await rig.call('GET', '/health')).toMatchObject({ status: 200 });

  // The service takes a write, and lowers limits for it in time.
  await rig.limitLocation('quay', 9, { priority: 2, lastsS: 90 });
  rig.limitOf('quay').becomes(9, 15);
  await starve(85);
  expect(rig.powerKw('quay')).toBeLessThanOrEqual(9);
  expect(rig.powerKw('quay')).toBeGreaterThan(2 * 6 * 0.69);
  expect(rig.chargers.map((charger) => charger.drawnA() >= 6)).toEqual([true, true]);

  rig.limitOf('quay').becomes(60);
  await rig.pass(12);
  expect(await rig.call('GET', '/locations/quay/limits')).toMatchObject({ status: 200 });
  await rig.until('both have all they want again', () => rig.powerKw('quay') > 43, 60);
  expect(await rig.counted('shed', { what: 'raise' })).toBeGreaterThan(0);
  expect(await rig.counted('shed', { what: 'read' })).toBe(2);
});

it('pauses of the host, however long, are no overload where it is in time between them', async () => {
  rig = await createEnforcementRig([{ locationId: 'quay', permanentLimitKw: 60, chargers: [{}] }]);
  for (let pause = 0; pause < 4; pause++) {
    rig.clock.stall(20_000);
    await rig.settle();
    await rig.pass(2);
    expect(await rig.counted('overload')).toBe(0);
  }
  await rig.until('it charges with all it wants', () => rig.powerKw('quay') > 21, 60);
  expect(await rig.call('GET', '/locations/quay/limits')).toMatchObject({ status: 200 });
  expect(await rig.counted('shed')).toBe(0);
});
