// Other chargers use the power that one charger leaves, every car charges, and few messages are needed.
import { afterEach, describe, expect, it } from 'vitest';
import { HUNGRY, type Traffic } from '../../sim/charger/traffic.js';
import { locationLiveSchema } from '../../src/features/live-contract.js';
import { onlyInCi } from '../seeds.js';
import { bodyOf } from '../service/answers.js';
import { createEnforcementRig, type EnforcementRig } from './enforcement-rig.js';
import type { RigCharger } from './rig-charger.js';

let rig: EnforcementRig;
afterEach(() => rig.stop());

/** A car that becomes full after a while, and stays. */
const FILLING: Traffic = { ...HUNGRY, batteryKwh: [1, 1] };

describe('the unused power of a charger', () => {
  it('by a full battery is used by others within 60 s', async () => {
    const chargers = [{ traffic: FILLING }, {}, {}];
    rig = await createEnforcementRig([{ locationId: 'quay', permanentLimitKw: 24, chargers }]);
    const first = rig.charger('quay-1');
    const isFull = () => first.energyWh() > 990 && first.drawnA() === 0;
    await rig.until('the car is full', isFull, 900);
    await rig.until('others have all of it', () => rig.powerKw('quay') > 0.95 * 24, 60);
    expect(first.heldA()).toBe(0);
    // With enough power for all, a full car has 6 A, so that it can begin again (R20).
    await rig.limitLocation('quay', 60);
    rig.limitOf('quay').becomes(60);
    await rig.until('it has its floor', () => first.heldA() === 6, 60);
  });

  it('as its battery fills is used by others within 60 s of each ampere that it takes less', async () => {
    const tapering: Traffic = {
      ...HUNGRY,
      batteryKwh: [3, 3],
      stateOfCharge: [0.5, 0.5],
      maxCurrentsA: [32],
    };
    rig = await createEnforcementRig([
      { locationId: 'quay', permanentLimitKw: 40, chargers: [{ traffic: tapering }, {}, {}] },
    ]);
    const [first, ...others] = rig.chargers;
    if (first === undefined) throw new Error('nobody');
    await rig.until('all share', () => rig.powerKw('quay') > 0.95 * 40, 120);
    await rig.until('it takes less', () => first.drawnA() < first.heldA() - 0.3, 900);
    const drawnA: number[] = Array.from({ length: 60 }, () => first.drawnA());
    let leftA = 0;
    for (let s = 0; s < 400 && first.drawnA() > 6; s++) {
      await rig.pass(1);
      drawnA.push(first.drawnA());
      const freeA = Math.max(...drawnA.slice(-60)) - first.drawnA();
      // A car that is not full keeps a ninth more than its draw and one step. A change too small for a message adds one
      // step.
      const keptA = first.drawnA() / 9 + 2;
      const usedA = others.reduce((sum, charger) => sum + charger.drawnA(), first.drawnA());
      leftA = Math.max(leftA, 40 / 0.69 - usedA - freeA - keptA);
    }
    expect(first.drawnA()).toBeLessThan(8);
    expect(leftA).toBeLessThan(0.5);
  });

  it('by vanishing is used once its lease is over, its fail-safe left aside', async () => {
    const chargers = [{}, {}, {}];
    rig = await createEnforcementRig([{ locationId: 'quay', permanentLimitKw: 36, chargers }]);
    await rig.until('all share', () => rig.powerKw('quay') > 0.9 * 36, 100);
    const [gone, ...others] = rig.chargers;
    if (gone === undefined) throw new Error('nobody');
    await rig.cut(gone);
    const before = others.map((charger) => charger.heldA());
    await rig.pass(55);
    expect(others.map((charger) => charger.heldA())).toEqual(before);
    const othersKw = () => others.reduce((sum, charger) => sum + charger.heldA() * 0.69, 0);
    await rig.until('others have its power', () => othersKw() > 0.95 * (36 - 6 * 0.69), 45);
    await rig.pass(120);
    expect(othersKw()).toBeLessThanOrEqual(36 - 6 * 0.69);
    await rig.restore(gone);
    await rig.until('it shares again', () => gone.drawnA() > 15, 120);
  });
});

describe('cars that cannot all charge at once', () => {
  // `test/machines/turns` proves the same without a service in every run.
  it('all charge within 5 h: 20 of them where 5 floors fit', onlyInCi(), async () => {
    rig = await createEnforcementRig(
      [
        {
          locationId: 'quay',
          permanentLimitKw: 5 * 6 * 0.69 + 0.1,
          chargers: Array.from({ length: 20 }, () => ({
            traits: { meterPeriodMs: 60_000 },
            maxCurrentA: 16,
            failsafeA: 0,
          })),
        },
      ],
      { environment: { HEADROOM_HEARTBEAT_S: '60', HEADROOM_LEASE_TTL_S: '240' } },
    );
    // A good part of a turn of 40 minutes at 6 A, for every car.
    const haveCharged = () => rig.chargers.every((charger) => charger.energyWh() > 1500);
    await rig.until('everybody has charged', haveCharged, 5 * 3600, 5);
  });
});

describe('a car that was paused a moment ago', () => {
  it('waits out the minute that a pause lasts, and does not report the limit as too low once it suffices', async () => {
    const chargers = [{ failsafeA: 0 }, { failsafeA: 0 }];
    rig = await createEnforcementRig([{ locationId: 'quay', permanentLimitKw: 30, chargers }]);
    const [one, other] = rig.chargers;
    await rig.until('both draw', () => rig.chargers.every((charger) => charger.drawnA() > 10), 200);
    await rig.limitLocation('quay', 5);
    rig.limitOf('quay').becomes(5, 15);
    const paused = () => [one, other].find((charger) => charger?.heldA() === 0);
    await rig.until('one is paused', () => paused() !== undefined, 30);
    expect(paused()?.reason()).toMatch(/^(paused|minimumPause)$/);
    const waiting = paused();
    await rig.limitLocation('quay', 30, { priority: 9 });
    rig.limitOf('quay').becomes(30);
    await rig.until('it is told so', () => waiting?.reason() === 'minimumPause', 15);
    const live = bodyOf(await rig.call('GET', '/locations/quay/live'), locationLiveSchema);
    expect(live.connectors.map(({ explanation }) => explanation)).toContain(
      'The connector was paused less than a minute ago. A pause lasts at least a minute.',
    );
    await rig.until('it charges again', () => (waiting?.drawnA() ?? 0) > 10, 75);
  });
});

describe('chargers that come back from a cut while others wait out their pause', () => {
  it('make room before the pause ends, so that everybody has a fair share as soon as it does', async () => {
    const chargers = Array.from({ length: 6 }, () => ({ failsafeA: 0 }));
    rig = await createEnforcementRig([{ locationId: 'quay', permanentLimitKw: 80, chargers }]);
    const isAtWork = (charger: RigCharger) => charger.drawnA() > 18;
    await rig.until('all draw', () => rig.chargers.every(isAtWork), 200);
    const back = rig.chargers.slice(0, 2);
    const others = rig.chargers.slice(2);
    for (const charger of back) await rig.cut(charger);
    await rig.limitLocation('quay', 26, { priority: 5, lastsS: 30 });
    rig.limitOf('quay').becomes(26, 75);
    await rig.until('the others are paused', () => others.every((charger) => charger.heldA() === 0), 30);
    for (const charger of back) await rig.restore(charger);
    rig.limitOf('quay').becomes(80);
    const isUnlimited = (charger: RigCharger) => charger.reason() === 'maximum';
    await rig.until('nothing holds those back', () => back.every(isUnlimited), 40);
    await rig.until('the pause is over', () => others.some((charger) => charger.heldA() > 0), 60);
    // At once, and not ten seconds later after the returned chargers have settled.
    await rig.pass(1);
    // 80 kW for six chargers are 19.3 A each. A charger within an ampere of that may keep its limit.
    for (const charger of rig.chargers) expect(charger.heldA(), charger.controllerUuid).toBeGreaterThan(18);
    expect(back.map((charger) => charger.reason())).toEqual(['fairShare', 'fairShare']);
  });
});

describe('a location where nothing changes', () => {
  it('is sent at most 8 limits a minute per connector', async () => {
    const chargers = [{}, {}, {}, { traits: { driftShare: -0.02 } }];
    rig = await createEnforcementRig([{ locationId: 'quay', permanentLimitKw: 44, chargers }]);
    await rig.pass(120);
    const before = rig.chargers.map((charger) => charger.limitsHeard());
    await rig.pass(600);
    const perMinute = rig.chargers.map((charger, i) => (charger.limitsHeard() - (before[i] ?? 0)) / 10);
    expect(Math.max(...perMinute)).toBeLessThanOrEqual(8);
    expect(Math.min(...perMinute)).toBeGreaterThan(1);
  });
});
