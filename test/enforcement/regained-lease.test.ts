// A charger that kept no lease for a while and keeps leases again. The end of its limits from that time is unknown
// (R41).
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { locationLiveSchema } from '../../src/features/live-contract.js';
import { bodyOf } from '../service/answers.js';
import { createEnforcementRig, type EnforcementRig } from './enforcement-rig.js';
import { connectNaiveCharger, type NaiveCharger } from './naive-charger.js';

const MAXIMUM_KW = 32 * 0.69;
/** A lease by the slowest clock, and settling. */
const HORIZON_S = 72;

let rig: EnforcementRig;
afterEach(() => rig.stop());

async function reservedKw(): Promise<number> {
  return bodyOf(await rig.call('GET', '/locations/quay/live'), locationLiveSchema).reservedKw;
}

describe('A charger whose limit is its maximum from a time without lease, and that then reports leases', () => {
  let charger: NaiveCharger;

  /** Sends heartbeats for `seconds`. The car draws nothing, and the charger acknowledges no new limit. */
  async function talk(seconds: number): Promise<void> {
    for (let passedS = 0; passedS < seconds; passedS += 10) {
      await charger.meter(0, { status: 'SuspendedEVSE' });
      await rig.pass(10);
    }
  }

  beforeEach(async () => {
    const chargers = [{ isAbsent: true, failsafeA: 0 }];
    rig = await createEnforcementRig([{ locationId: 'quay', permanentLimitKw: 44, chargers }]);
    charger = await connectNaiveCharger(rig, 'quay', 'quay-1');
    await charger.state({ lease: 'none', keepsThen: true, failsafeA: 0 });
    await talk(20);
    expect(charger.last().limitA).toBe(32);
  });

  it('may be at that a lease after it acknowledged it, and no longer', async () => {
    const maximum = charger.last();
    await rig.limitLocation('quay', 10);
    await charger.state({ lease: 'heartbeat', keepsThen: true, failsafeA: 0 });
    await charger.ack({ seq: maximum.seq });
    await talk(60);
    expect(await reservedKw()).toBeCloseTo(MAXIMUM_KW);
    await talk(HORIZON_S);
    expect(await reservedKw()).toBeLessThan(10);
    await charger.stop();
  });

  it('may be at that after a restart of the service, too, however long it is silent', async () => {
    await rig.limitLocation('quay', 10);
    await charger.state({ lease: 'heartbeat', keepsThen: true, failsafeA: 0 });
    await talk(20);
    await charger.stop();
    await rig.restartService(3);
    await rig.pass(2 * HORIZON_S);
    // Its voltage is not measured yet.
    expect(await reservedKw()).toBeGreaterThanOrEqual(MAXIMUM_KW);
  });
});

it('has to fall back to nothing until others have made room, if it has lost its profiles and is at its maximum by itself', async () => {
  const chargers = [{ isAbsent: true }, {}, {}];
  rig = await createEnforcementRig([{ locationId: 'quay', permanentLimitKw: 30, chargers }]);
  const charger = await connectNaiveCharger(rig, 'quay', 'quay-1');
  await charger.state({ lease: 'heartbeat', keepsThen: true, failsafeA: 0 });
  // Without a car the charger needs nothing, so the others get all power.
  for (let passedS = 0; passedS < 100; passedS += 10) {
    await charger.meter(0, { status: 'Available', limitA: 0 });
    await rig.pass(1);
    await charger.ack();
    await rig.pass(9);
  }
  expect(rig.powerKw('quay')).toBeGreaterThan(0.95 * 30);
  await charger.state({ lease: 'none', keepsThen: false, failsafeA: 32 });
  await charger.meter(0, { status: 'SuspendedEVSE', limitA: 0 });
  await rig.pass(1);
  expect(charger.last()).toMatchObject({ limitA: 0, thenA: 0 });
  await charger.stop();
});
