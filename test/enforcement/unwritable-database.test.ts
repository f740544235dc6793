// A database that takes no writes. The service renews grants and raises none, and no limit is exceeded.
import { afterEach, describe, expect, it } from 'vitest';
import { type Store, StoreUnavailableError } from '../../src/ports/store.js';
import { createEnforcementRig, type EnforcementRig } from './enforcement-rig.js';

let rig: EnforcementRig;
let isWritable = true;
afterEach(async () => {
  isWritable = true;
  await rig.stop();
});

function withDisk(store: Store): Store {
  return {
    ...store,
    append: async (tenantUuid, changes) => {
      if (!isWritable) throw new StoreUnavailableError('the disk is full');
      await store.append(tenantUuid, changes);
    },
  };
}

const run = async (permanentLimitKw: number) => {
  rig = await createEnforcementRig([{ locationId: 'quay', permanentLimitKw, chargers: [{}, {}, {}] }], {
    wrapStore: withDisk,
  });
};

const heldA = () => rig.chargers.map((charger) => charger.heldA());

describe('while the database takes no writes', () => {
  it('leases are renewed and limits lowered; raises wait until it takes them again', async () => {
    await run(60);
    await rig.limitLocation('quay', 30, { lastsS: 200 });
    rig.limitOf('quay').becomes(30);
    await rig.until('all is used', () => rig.powerKw('quay') > 0.9 * 30, 100);
    await rig.limitLocation('quay', 20, { startsInS: 80, lastsS: 60, priority: 1 });
    rig.limitOf('quay').becomes(20, 80);
    rig.limitOf('quay').becomes(30, 140);
    rig.limitOf('quay').becomes(60, 200 - rig.clock.monotonicMs() / 1000);
    const before = heldA();
    isWritable = false;
    await rig.pass(110);
    expect(rig.chargers.every((charger) => charger.holdsLease())).toBe(true);
    expect(rig.powerKw('quay')).toBeGreaterThan(0.9 * 20);
    await rig.pass(200);
    expect(rig.chargers.every((charger) => charger.holdsLease())).toBe(true);
    for (const [i, limitA] of heldA().entries()) expect(limitA).toBeLessThanOrEqual(before[i] ?? 0);
    isWritable = true;
    await rig.until('all is used', () => rig.powerKw('quay') > 0.9 * 60, 60);
  });

  it('chargers that come keep to their fail-safes, and are granted more once it takes writes again', async () => {
    isWritable = false;
    await run(44);
    await rig.pass(60);
    expect(heldA()).toEqual([6, 6, 6]);
    isWritable = true;
    await rig.until('all is used', () => rig.powerKw('quay') > 0.9 * 44, 90);
  });
});
