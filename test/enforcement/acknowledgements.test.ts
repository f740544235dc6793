// The service grants a charger's power to others only after a plausible acknowledgement or after the lease (R1).
import { afterEach, describe, expect, it } from 'vitest';
import type { LimitMessage } from '../../src/wire/mqtt.js';
import { createEnforcementRig, type EnforcementRig } from './enforcement-rig.js';
import { connectNaiveCharger, type Fields, type NaiveCharger } from './naive-charger.js';

const LIMIT_KW = 30;

let rig: EnforcementRig;
let naive: NaiveCharger;
afterEach(async () => {
  await naive.stop();
  await rig.stop();
});

const other = () => rig.charger('quay-2');

/**
 * The naive charger `quay-1` runs at its maximum, while the other one is cut off at its fail-safe. Then the other one
 * comes back, and `quay-1` is sent a lower limit. Resolves to the earlier limit of `quay-1`.
 */
async function toldToMakeRoom(): Promise<LimitMessage> {
  rig = await createEnforcementRig([
    { locationId: 'quay', permanentLimitKw: LIMIT_KW, chargers: [{ isAbsent: true }, {}] },
  ]);
  await rig.cut(other());
  await rig.pass(75, 15);
  naive = await connectNaiveCharger(rig, 'quay', 'quay-1');
  await naive.state({ keepsThen: true });
  await naive.meter(6);
  let heldA = 6;
  for (let i = 0; i < 12 && heldA < 32; i++) {
    await rig.pass(10, 5);
    await naive.ack();
    heldA = naive.last().limitA;
    await naive.meter(heldA, namesOf(naive.last()));
  }
  expect(heldA).toBe(32);
  const before = naive.last();
  await rig.restore(other());
  await rig.pass(5);
  expect(naive.last().limitA).toBeLessThan(25);
  return before;
}

const namesOf = ({ epoch, seq, limitA }: LimitMessage) => ({ epoch, seq, limitA });

/** Highest limit of the other charger while the naive one may still draw its maximum. */
const BESIDE_MAXIMUM_A = LIMIT_KW / 0.69 - 32;

describe('a limit that makes room for others', () => {
  it('does so once it is acknowledged, and settled', async () => {
    await toldToMakeRoom();
    await naive.ack();
    await rig.pass(8);
    expect(other().heldA()).toBeLessThanOrEqual(BESIDE_MAXIMUM_A);
    await rig.pass(7);
    expect(other().heldA()).toBeGreaterThan(20);
  });

  it('does so as well where a heartbeat names it, the acknowledgement being lost', async () => {
    await toldToMakeRoom();
    await naive.meter(naive.last().limitA, namesOf(naive.last()));
    await rig.pass(15);
    expect(other().heldA()).toBeGreaterThan(20);
  });

  it('does so without one when the lease is over, counted from the heartbeat it answered, by a slow clock', async () => {
    const { ref } = await toldToMakeRoom();
    // A lease of 60 s, 2 % for a slow clock, and 10 s of settling.
    const endsInS = (naive.saidAtMs(ref) + 71_200 - rig.clock.monotonicMs()) / 1000;
    await rig.pass(endsInS - 0.2);
    expect(other().heldA()).toBeLessThanOrEqual(BESIDE_MAXIMUM_A);
    await rig.pass(5);
    expect(other().heldA()).toBeGreaterThan(20);
  });

  it.each<{ what: string; ack: (before: LimitMessage) => Fields }>([
    { what: 'of a limit that was never sent', ack: () => ({ seq: naive.last().seq + 100 }) },
    { what: 'of another life of the service', ack: () => ({ epoch: naive.last().epoch + 1 }) },
    { what: 'of another life of the charger', ack: () => ({ boot: 'another-boot' }) },
    { what: 'of the limit before', ack: ({ seq, limitA }) => ({ seq, appliedA: limitA }) },
    { what: 'that says it is held to more', ack: ({ limitA }) => ({ appliedA: limitA }) },
    { what: 'that the limit was refused', ack: () => ({ result: 'REJECTED' }) },
    { what: 'that the limit came too late', ack: () => ({ result: 'EXPIRED' }) },
  ])('does not by an acknowledgement $what, only by the end of the lease', async ({ ack }) => {
    const before = await toldToMakeRoom();
    await naive.ack(ack(before));
    await rig.pass(20);
    expect(other().heldA()).toBeLessThanOrEqual(BESIDE_MAXIMUM_A);
    await rig.pass(60);
    expect(other().heldA()).toBeGreaterThan(20);
  });
});

describe('messages of a charger on foreign topics', () => {
  it.each([
    { what: 'a meter value', rest: 'c/1/meter', message: { v: 1, powerW: 1, hb: 1_000_000, boot: 'x' } },
    { what: 'an acknowledgement', rest: 'c/1/ack', message: { v: 1, epoch: 1, seq: 1, result: 'APPLIED' } },
    { what: 'a goodbye', rest: 'state', message: { v: 1, online: false } },
    { what: 'a limit', rest: 'c/1/limit', message: { v: 1, epoch: 99, seq: 1, limitA: 32 } },
  ])('is refused, and cuts its own connection alone: $what', async ({ rest, message }) => {
    rig = await createEnforcementRig([
      { locationId: 'quay', permanentLimitKw: LIMIT_KW, chargers: [{ isAbsent: true }, {}] },
    ]);
    naive = await connectNaiveCharger(rig, 'quay', 'quay-1');
    await rig.pass(30);
    const heard = other().limitsHeard();
    const topic = naive.topic(rest).replace('quay-1', 'quay-2');
    await naive.publish(topic, message);
    expect(await rig.counted('mqttRefusals', { reason: 'topic' })).toBe(1);
    await rig.pass(30);
    expect(other().limitsHeard()).toBeGreaterThan(heard);
    expect(other().holdsLease()).toBe(true);
  });
});
