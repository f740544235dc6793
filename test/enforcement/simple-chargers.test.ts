// Chargers with less than the contract's full support. Each is served by the contract and reserved for its possible
// draw.
import { afterEach, describe, expect, it } from 'vitest';
import { createEnforcementRig, type EnforcementRig } from './enforcement-rig.js';
import { connectNaiveCharger, type NaiveCharger } from './naive-charger.js';

const LIMIT_KW = 44;
const MAXIMUM_KW = 32 * 0.69;

let rig: EnforcementRig;
afterEach(() => rig.stop());

/** The charger draws its last limit and acknowledges the new one. Ten seconds pass. */
async function obey(charger: NaiveCharger): Promise<void> {
  const { limitA = 0 } = charger.limits.at(-1) ?? {};
  await charger.meter(limitA, { limitA });
  await rig.pass(1);
  await charger.ack();
  await rig.pass(9);
}

describe('a charger that counts its lease from receipt', () => {
  it('is served like others', async () => {
    const chargers = [{ traits: { lease: 'receipt' } } as const, {}, {}];
    rig = await createEnforcementRig([{ locationId: 'quay', permanentLimitKw: LIMIT_KW, chargers }]);
    const isShared = () => rig.chargers.every((charger) => charger.drawnA() > 0.9 * (LIMIT_KW / 3 / 0.69));
    await rig.until('all have the same', isShared, 150);
    await rig.limitLocation('quay', 20);
    rig.limitOf('quay').becomes(20, 15);
    await rig.pass(60);
    expect(rig.powerKw('quay')).toBeGreaterThan(0.9 * 20);
  });

  it('counts as holding a limit that it never acknowledged, however late it comes', async () => {
    const receipt = { traits: { lease: 'receipt', misbehaviours: ['late-reaction'] } } as const;
    rig = await createEnforcementRig([
      { locationId: 'quay', permanentLimitKw: LIMIT_KW, chargers: [receipt, {}, {}] },
    ]);
    const first = rig.charger('quay-1');
    await rig.until('it is served', () => first.heldA() > 20, 150);
    first.holdBack();
    await rig.pass(20);
    first.setMute(true);
    await rig.pass(200);
    expect(first.holdsLease()).toBe(false);
    first.letThrough();
    await rig.pass(5);
    expect(first.heldA()).toBeGreaterThan(20);
    await rig.pass(50);
  });

  it('leaves its power to others once its lease is over', async () => {
    const chargers = [{ traits: { lease: 'receipt' } } as const, {}];
    rig = await createEnforcementRig([{ locationId: 'quay', permanentLimitKw: 24, chargers }]);
    const [receipt, other] = rig.chargers;
    await rig.until('both share', () => rig.powerKw('quay') > 0.9 * 24, 150);
    if (receipt !== undefined) await rig.cut(receipt);
    await rig.pass(50);
    expect(other?.heldA()).toBeLessThan(20);
    await rig.until('the other has it', () => (other?.drawnA() ?? 0) * 0.69 > 0.9 * (24 - 4.14), 100);
  });
});

describe('a charger whose state was lost', () => {
  it('is asked for it again, until it comes', async () => {
    const plan = { locationId: 'quay', permanentLimitKw: LIMIT_KW, chargers: [{ isAbsent: true }] };
    rig = await createEnforcementRig([plan]);
    const charger = await connectNaiveCharger(rig, 'quay', 'quay-1');
    const report = async (seconds: number) => {
      for (let s = 0; s < seconds; s += 10) {
        await charger.meter(0);
        await rig.pass(10);
      }
    };
    await report(40);
    expect(charger.syncs()).toBeGreaterThanOrEqual(1);
    await charger.state();
    const asked = charger.syncs();
    await report(100);
    expect(charger.syncs()).toBe(asked);
    await charger.stop();
  });
});

describe('a charger that keeps to no lease', () => {
  it.each([{ traits: { lease: 'none' } }, { traits: { misbehaviours: ['power-only'] } }] as const)(
    'has its maximum reserved, and others share the rest: %o',
    async (plan) => {
      rig = await createEnforcementRig([
        { locationId: 'quay', permanentLimitKw: LIMIT_KW, chargers: [plan, {}, {}] },
      ]);
      const [simple, ...others] = rig.chargers;
      const othersKw = () => others.reduce((sum, charger) => sum + charger.drawnA() * 0.69, 0);
      // Without a measured voltage, its maximum counts at nominal voltage and 10 % more (R11).
      await rig.until('others are served', () => othersKw() > 0.95 * (LIMIT_KW - 1.1 * MAXIMUM_KW), 150);
      await rig.pass(60);
      expect(simple?.drawnA()).toBeCloseTo(32);
      expect(await rig.alarms('quay')).toEqual([]);
      expect(simple?.limitsHeard() ?? 0).toBeLessThanOrEqual(10);
    },
  );

  it('is sent less if its maximum does not fit, and the operator gets an alarm for the limit', async () => {
    const chargers = [{ traits: { lease: 'none' } } as const, {}];
    rig = await createEnforcementRig([{ locationId: 'quay', permanentLimitKw: LIMIT_KW, chargers }]);
    await rig.pass(60);
    await rig.limitLocation('quay', 12);
    rig.limitOf('quay').becomes(12, 15);
    await rig.pass(60);
    expect(rig.chargers.map((charger) => charger.heldA())).toEqual([6, 0]);
    expect(await rig.alarms('quay', 'LIMIT_UNATTAINABLE')).toHaveLength(1);
  });

  it('is sent nothing if its 6 A do not fit beside those of a lock, and keeps them if it is locked itself', async () => {
    const chargers = [{ traits: { lease: 'none' } } as const, {}];
    rig = await createEnforcementRig([{ locationId: 'quay', permanentLimitKw: LIMIT_KW, chargers }]);
    await rig.pass(60);
    await rig.limitLocation('quay', 5);
    rig.limitOf('quay').becomes(5, 15);
    await rig.pass(60);
    expect(rig.chargers.map((charger) => charger.heldA())).toEqual([6, 0]);
    await rig.lock('quay-2', 11, { lastsS: 120 });
    // Both draw until the first one has followed.
    rig.limitOf('quay').becomes(2 * 6 * 0.69, 0);
    rig.limitOf('quay').becomes(5, 15);
    await rig.pass(60);
    expect(rig.chargers.map((charger) => charger.heldA())).toEqual([0, 6]);
    await rig.pass(75);
    await rig.lock('quay-1', 11);
    await rig.until('the locked one has its floor', () => rig.charger('quay-1').heldA() === 6, 30);
    await rig.pass(60);
    expect(rig.chargers.map((charger) => charger.heldA())).toEqual([6, 0]);
  });

  it.each([
    ['limit', { permanentLimitKw: 14 }],
    ['fuse', { permanentLimitKw: 40, connection: { currentA: [60, 60, 60], voltageV: 230 } }],
  ] as const)(
    'is offered its 6 A beside others like it at 0, though the %s does not carry their maxima',
    async (_, plan) => {
      const absent = { isAbsent: true, failsafeA: 0 };
      rig = await createEnforcementRig([{ locationId: 'quay', ...plan, chargers: [absent, absent, absent] }]);
      const simple = [];
      for (const nth of [1, 2, 3]) simple.push(await connectNaiveCharger(rig, 'quay', `quay-${nth}`));
      for (const each of simple) await each.state({ lease: 'none', keepsThen: true, failsafeA: 0 });
      for (let seconds = 0; seconds < 60; seconds += 10) {
        for (const each of simple) await each.meter(0, { status: 'SuspendedEVSE', limitA: 0 });
        await rig.pass(1);
        for (const each of simple) await each.ack();
        await rig.pass(9);
      }
      for (const each of simple) await each.stop();
      expect(simple.map((each) => each.last().limitA)).toEqual([6, 6, 6]);
    },
  );

  it('has the 6 A of its lock once the others have left room for that, where all do fit in the end', async () => {
    const chargers = [{ isAbsent: true, failsafeA: 0 }, { failsafeA: 0 }];
    rig = await createEnforcementRig([{ locationId: 'quay', permanentLimitKw: 20, chargers }]);
    const other = rig.charger('quay-2');
    await rig.lock('quay-1', 11);
    await rig.lock('quay-2', 22);
    await rig.until('the other charges', () => other.drawnA() > 25, 150);
    await rig.cut(other);
    const simple = await connectNaiveCharger(rig, 'quay', 'quay-1');
    await simple.state({ lease: 'none', keepsThen: true, failsafeA: 0 });
    const told: { readonly limitA: number; readonly othersA: number }[] = [];
    for (let seconds = 0; seconds < 100; seconds += 5) {
      await simple.meter(0, { status: 'SuspendedEVSE' });
      await rig.pass(2);
      const { limitA } = simple.last();
      told.push({ limitA, othersA: other.drawnA() });
      await simple.ack();
      await rig.pass(3);
    }
    await simple.stop();
    expect(told.at(-1)).toEqual({ limitA: 6, othersA: 0 });
    expect(told.filter(({ limitA, othersA }) => limitA > 0 && othersA > 0)).toEqual([]);
  });

  it('makes room for the 6 A of a lock that keeps its lease', async () => {
    const chargers = [{ isAbsent: true, failsafeA: 0 }, { failsafeA: 0 }];
    rig = await createEnforcementRig([{ locationId: 'quay', permanentLimitKw: 25, chargers }]);
    const simple = await connectNaiveCharger(rig, 'quay', 'quay-1');
    await simple.state({ lease: 'none', keepsThen: true, failsafeA: 0 });
    for (let seconds = 0; seconds < 30; seconds += 10) await obey(simple);
    expect(simple.last().limitA).toBe(32);
    await rig.lock('quay-2', 11);
    for (let seconds = 0; seconds < 60; seconds += 10) await obey(simple);
    await simple.stop();
    expect([simple.last().limitA, rig.charger('quay-2').heldA()]).toEqual([6, 6]);
  });

  it('has the 6 A of its lock once another like it has let go of its maximum, though it would start with more', async () => {
    const chargers = [{ isAbsent: true }, { isAbsent: true, failsafeA: 0 }];
    rig = await createEnforcementRig([{ locationId: 'quay', permanentLimitKw: 25, chargers }]);
    const first = await connectNaiveCharger(rig, 'quay', 'quay-1');
    await first.state({ lease: 'none', keepsThen: true, failsafeA: 6 });
    for (let seconds = 0; seconds < 30; seconds += 10) await obey(first);
    expect(first.last().limitA).toBe(32);
    await rig.lock('quay-2', 11);
    const locked = await connectNaiveCharger(rig, 'quay', 'quay-2');
    await locked.state({ lease: 'none', keepsThen: false, failsafeA: 32 });
    const told: (readonly [number, number])[] = [];
    for (let seconds = 0; seconds < 40; seconds += 10) {
      await locked.meter(0, { status: 'SuspendedEVSE', limitA: 0 });
      await rig.pass(1);
      told.push([first.last().limitA, locked.last().limitA]);
      await locked.ack();
      await obey(first);
    }
    await Promise.all([first.stop(), locked.stop()]);
    expect(told[0]).toEqual([6, 0]);
    expect(told.at(-1)).toEqual([6, 6]);
  });
});
