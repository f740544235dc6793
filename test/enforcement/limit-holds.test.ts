// The main promise of the service: chargers of a location never draw more than its limit, through any cut at any time.
import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '../eventually.js';
import { createEnforcementRig, type EnforcementRig } from './enforcement-rig.js';

/** The worst behaviour that the protocol allows: up at once, down as late as possible, on the slowest allowed clock. */
const LATE = { traits: { misbehaviours: ['late-reaction'] } } as const;
const SLOW = { traits: { misbehaviours: ['late-reaction'], driftShare: 0.019 } } as const;
const CHARGERS = [LATE, SLOW, {}, LATE];
/** 6 A of one charger. */
const FAILSAFE_KW = 6 * 0.69;

let rig: EnforcementRig;
afterEach(() => rig.stop());

async function runQuay(permanentLimitKw: number): Promise<void> {
  rig = await createEnforcementRig([{ locationId: 'quay', permanentLimitKw, chargers: CHARGERS }]);
  await charging();
}

/** Resolves after the chargers draw nearly all their power. */
async function charging(withinS = 150): Promise<number> {
  const isUsed = () => rig.powerKw('quay') > 0.9 * rig.limitOf('quay').limitKw();
  return rig.until('the location is made use of', isUsed, withinS);
}

describe('a scheduled decrease', () => {
  it.each([
    { limitKw: 20, cutS: 120 },
    { limitKw: 20, cutS: 71 },
    { limitKw: 20, cutS: 30 },
    { limitKw: 20, cutS: 16 },
    { limitKw: 20, cutS: 11 },
    { limitKw: 5, cutS: 71 },
  ])('costs no overshoot: to $limitKw kW, every charger cut off $cutS s before (rule 3)', async (of) => {
    await runQuay(44);
    const [first, second, ...others] = rig.chargers;
    await rig.limitLocation('quay', of.limitKw, { startsInS: 150 });
    rig.limitOf('quay').becomes(of.limitKw, 150);
    await rig.pass(150 - of.cutS);
    // To the service, some chargers are offline and others only silent.
    for (const charger of [first, second]) if (charger !== undefined) await rig.cut(charger);
    for (const charger of others) charger.setMute(true);
    await rig.pass(of.cutS + 100);
    expect(rig.chargers.map((charger) => charger.holdsLease())).toEqual([false, false, false, false]);
    // Only as many chargers keep their fail-safes as fit (R23).
    const fitting = Math.min(rig.chargers.length, Math.floor(of.limitKw / FAILSAFE_KW));
    expect(rig.powerKw('quay')).toBeCloseTo(fitting * FAILSAFE_KW);
  });

  it.each([
    { startsInS: 75, cutS: 60 },
    { startsInS: 90, cutS: 50 },
  ])(
    'costs none if it is announced $startsInS s ahead at a site at rest, every charger cut off $cutS s before',
    async (of) => {
      await runQuay(44);
      await rig.pass(125);
      await rig.limitLocation('quay', 20, { startsInS: of.startsInS });
      rig.limitOf('quay').becomes(20, of.startsInS);
      await rig.pass(of.startsInS - of.cutS);
      for (const charger of rig.chargers) await rig.cut(charger);
      await rig.pass(of.cutS + 30);
    },
  );

  it('costs none if leases count from their receipt, and so have no known end', async () => {
    const receipt = { traits: { lease: 'receipt' } } as const;
    const chargers = [receipt, receipt, receipt, {}];
    rig = await createEnforcementRig([{ locationId: 'quay', permanentLimitKw: 44, chargers }]);
    await charging();
    await rig.limitLocation('quay', 20, { startsInS: 150 });
    rig.limitOf('quay').becomes(20, 150);
    await rig.pass(120);
    for (const charger of rig.chargers) await rig.cut(charger);
    await rig.pass(130);
  });

  it('costs none beside the fallback of a charger that missed its notice', async () => {
    rig = await createEnforcementRig([{ locationId: 'quay', permanentLimitKw: 44, chargers: [{}, {}] }]);
    const [locked, other] = rig.chargers;
    if (locked === undefined || other === undefined) throw new Error('no chargers');
    await rig.lock('quay-1', 18, { lastsS: 3_600 });
    await charging();
    await rig.limitLocation('quay', 21, { startsInS: 150 });
    rig.limitOf('quay').becomes(21, 150);
    await rig.pass(134);
    other.setMute(true);
    await rig.pass(2);
    // 18 kW do not fit beside the 6 A to which the other one falls back.
    await rig.cut(locked);
    await rig.pass(14);
    expect(rig.powerKw('quay')).toBeCloseTo(2 * FAILSAFE_KW);
    await rig.pass(90);
  });

  it('lowers chargers at once if it is announced after the leases that outlast its begin (R3)', async () => {
    await runQuay(44);
    await rig.limitLocation('quay', 20, { startsInS: 50 });
    rig.limitOf('quay').becomes(20, 50);
    await rig.pass(15);
    expect(rig.powerKw('quay')).toBeLessThanOrEqual(20);
    for (let s = 15; s < 60; s++) {
      await rig.pass(1);
      expect(rig.powerKw('quay')).toBeLessThanOrEqual(20);
    }
    expect(rig.powerKw('quay')).toBeGreaterThan(0.85 * 20);
  });

  it('costs none where it is the permanent limit that waits below a profile', async () => {
    await runQuay(44);
    await rig.limitLocation('quay', 44, { lastsS: 185 });
    await rig.pass(125);
    expect((await rig.call('PUT', '/locations/quay/limit', { limitKw: 20 })).status).toBe(200);
    rig.limitOf('quay').becomes(20, 60);
    await rig.pass(20);
    for (const charger of rig.chargers) await rig.cut(charger);
    await rig.pass(70);
  });

  it('lowers chargers 15 s before it begins, and its end gives back at its instant, not before', async () => {
    await runQuay(44);
    await rig.limitLocation('quay', 20, { startsInS: 200, lastsS: 120 });
    rig.limitOf('quay').becomes(20, 200);
    rig.limitOf('quay').becomes(44, 320);
    await rig.pass(120);
    const heldA = rig.chargers.map((charger) => charger.heldA());
    for (let s = 120; s < 184; s++) {
      await rig.pass(1);
      expect(rig.chargers.map((charger) => charger.heldA())).toEqual(heldA);
    }
    expect(rig.powerKw('quay')).toBeGreaterThan(0.9 * 44);
    await rig.pass(135);
    expect(rig.powerKw('quay')).toBeGreaterThan(0.85 * 20);
    expect(await charging(60)).toBeLessThanOrEqual(40);
  });
});

describe('an unscheduled decrease', () => {
  it('is kept within 15 s by chargers in reach (rule 10)', async () => {
    await runQuay(60);
    await rig.limitLocation('quay', 20);
    rig.limitOf('quay').becomes(20, 15);
    await rig.pass(90);
    expect(rig.powerKw('quay')).toBeGreaterThan(0.9 * 20);
    const { status } = await rig.call('PUT', '/locations/quay/limit', { limitKw: 12 });
    expect(status).toBe(200);
    await rig.limitLocation('quay', 3);
    rig.limitOf('quay').becomes(3, 15);
    await rig.pass(90);
    expect(rig.powerKw('quay')).toBe(0);
  });

  it('is kept once the lease is over where a charger is out of reach (rule 10)', async () => {
    await runQuay(60);
    const [silent, gone] = rig.chargers;
    silent?.setMute(true);
    if (gone !== undefined) await rig.cut(gone);
    await rig.limitLocation('quay', 20);
    rig.limitOf('quay').becomes(20, 71.5);
    await rig.pass(200);
    expect(silent?.holdsLease()).toBe(false);
    await charging(10);
  });
});

describe('a limit that is held up on its way', () => {
  it('has no effect once its lease would be over: others use its power (rule 4)', async () => {
    await runQuay(44);
    const [first, ...others] = rig.chargers;
    const before = first?.heldA() ?? 0;
    first?.holdBack();
    await rig.pass(20);
    first?.setMute(true);
    await rig.pass(150);
    expect(others.reduce((sum, charger) => sum + charger.drawnA(), 0)).toBeGreaterThan(3 * before + 5);
    first?.letThrough();
    await rig.pass(30);
    expect(first?.heldA()).toBe(6);
  });
});

describe('a charger that starts again', () => {
  it('is held to its fail-safe until it is granted more, and its old grant stays reserved', async () => {
    await runQuay(44);
    const [charger] = rig.chargers;
    charger?.link.reboot('another boot');
    expect(charger?.heldA()).toBe(6);
    await eventually(() => expect(charger?.link.isOnline()).toBe(true));
    expect(await rig.until('it holds a grant', () => charger?.holdsLease(), 5)).toBeLessThanOrEqual(5);
    await charging();
  });
});

describe('a service that starts again', () => {
  it('holds the limit, and grants resume within 5 s of the chargers’ return (rule 6)', async () => {
    await runQuay(44);
    for (const downS of [3, 40, 90]) {
      const before = rig.chargers.map((charger) => charger.limitsHeard());
      await rig.restartService(downS);
      const isGranted = () => rig.chargers.every((charger, i) => charger.limitsHeard() > (before[i] ?? 0));
      await rig.until('every charger was granted a limit', isGranted, 5);
      await rig.pass(5);
      expect(rig.chargers.every((charger) => charger.holdsLease())).toBe(true);
      await charging();
    }
  });

  it('keeps its entitlement for a charger that does not come back', async () => {
    await runQuay(44);
    const [first] = rig.chargers;
    if (first === undefined) throw new Error('nobody');
    await rig.cut(first);
    await rig.restartService(3);
    await rig.pass(40);
    expect(first.holdsLease()).toBe(true);
    await rig.pass(80);
    expect(rig.powerKw('quay')).toBeGreaterThan(0.9 * 44);
  });

  it('has a limit that became lower while it was down', async () => {
    await runQuay(44);
    await rig.limitLocation('quay', 20, { startsInS: 100 });
    rig.limitOf('quay').becomes(20, 100);
    await rig.pass(20);
    await rig.restartService(85);
    await rig.pass(30);
    await charging();
  });
});
