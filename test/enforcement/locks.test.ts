// Locked connectors keep their limit until all unlocked ones are at 0, and never fall below 6 A (R13, R16, R17).
import { afterEach, describe, expect, it } from 'vitest';
import { HUNGRY, type Traffic } from '../../sim/charger/traffic.js';
import { locationLiveSchema } from '../../src/features/live-contract.js';
import { createEnforcementRig, type EnforcementRig } from './enforcement-rig.js';

const KW_OF_6_A = 6 * 0.69;

let rig: EnforcementRig;
afterEach(() => rig.stop());

const heldA = () => rig.chargers.map((charger) => charger.heldA());

describe('a locked connector', () => {
  it('runs at its lock’s limit while others give way, down to 0', async () => {
    rig = await createEnforcementRig([{ locationId: 'quay', permanentLimitKw: 60, chargers: [{}, {}, {}] }]);
    await rig.lock('quay-1', 13.8);
    await rig.until('the lock is served', () => rig.charger('quay-1').drawnA() > 19.9, 60);
    for (const limitKw of [30, 24, 16]) {
      await rig.limitLocation('quay', limitKw);
      rig.limitOf('quay').becomes(limitKw, 15);
      for (let i = 0; i < 90; i++) {
        await rig.pass(1);
        expect(rig.charger('quay-1').heldA()).toBe(20);
      }
    }
    // 2.2 kW remain, and no car can charge with that.
    expect(heldA()).toEqual([20, 0, 0]);
  });

  it('has its limit from the start of its window on, because others make room just before (R52)', async () => {
    rig = await createEnforcementRig([{ locationId: 'quay', permanentLimitKw: 30, chargers: [{}, {}, {}] }]);
    await rig.until('all share', () => rig.powerKw('quay') > 0.95 * 30, 100);
    const sharedA = rig.charger('quay-1').heldA();
    await rig.lock('quay-1', 20, { startsInS: 100, lastsS: 120 });
    for (let s = 0; s < 84; s++) {
      await rig.pass(1);
      expect(Math.min(...heldA())).toBeGreaterThan(sharedA - 1);
    }
    for (let s = 84; s < 99; s++) {
      await rig.pass(1);
      expect(rig.charger('quay-1').heldA()).toBeLessThanOrEqual(sharedA + 1);
    }
    await rig.pass(2);
    expect(rig.charger('quay-1').heldA()).toBeGreaterThan(28.8);
  });

  it('has its limit in time, although another car arrives while the others make room (R52)', async () => {
    const arriving: Traffic = { ...HUNGRY, firstArrivalS: [214, 214] };
    rig = await createEnforcementRig([
      { locationId: 'quay', permanentLimitKw: 30, chargers: [{}, {}, {}, { traffic: arriving }] },
    ]);
    await rig.until('all share', () => rig.powerKw('quay') > 0.95 * 30, 100);
    const shared = await rig.until('120 s are over', () => rig.clock.monotonicMs() >= 120_000, 120);
    expect(shared).toBeGreaterThan(0);
    await rig.lock('quay-1', 15, { startsInS: 100, lastsS: 120 });
    await rig.pass(102);
    expect(rig.charger('quay-1').heldA()).toBeGreaterThan(21.6);
    await rig.until('the other car charges', () => rig.charger('quay-4').drawnA() > 6, 30);
  });

  it('rises with a higher lock at once, and falls with a lower one', async () => {
    rig = await createEnforcementRig([{ locationId: 'quay', permanentLimitKw: 30, chargers: [{}, {}, {}] }]);
    await rig.lock('quay-1', 6.9, { lastsS: 200 });
    await rig.until('the lock is served', () => rig.charger('quay-1').heldA() === 10, 60);
    await rig.lock('quay-1', 13.8, { startsInS: 100, lastsS: 60, priority: 3 });
    for (let s = 0; s < 99; s++) {
      await rig.pass(1);
      expect(rig.charger('quay-1').heldA()).toBe(10);
    }
    await rig.pass(2);
    expect(rig.charger('quay-1').heldA()).toBe(20);
    await rig.pass(60);
    expect(rig.charger('quay-1').heldA()).toBe(10);
  });

  it('is lowered as a last resort only, together with others locked, and never below 6 A', async () => {
    rig = await createEnforcementRig([{ locationId: 'quay', permanentLimitKw: 60, chargers: [{}, {}, {}] }]);
    await rig.lock('quay-1', 13.8);
    await rig.lock('quay-2', 13.8);
    await rig.until('the locks are served', () => heldA().slice(0, 2).join() === '20,20', 60);
    await rig.limitLocation('quay', 20);
    rig.limitOf('quay').becomes(20, 15);
    for (let i = 0; i < 60; i++) {
      await rig.pass(1);
      const [first = 0, second = 0] = heldA();
      expect(Math.min(first, second)).toBeGreaterThanOrEqual(6);
    }
    const [first = 0, second = 0, unlocked] = heldA();
    expect(unlocked).toBe(0);
    expect(Math.abs(first - second)).toBeLessThanOrEqual(0.1);
    expect((first + second) * 0.69).toBeGreaterThan(0.95 * 20);
    expect(rig.charger('quay-1').reason()).toBe('lastResort');
    expect(await rig.alarms('quay', 'LIMIT_UNATTAINABLE')).toEqual([]);
  });

  it('keeps 6 A where not even that fits: LIMIT_UNATTAINABLE begins, and ends when it fits again', async () => {
    rig = await createEnforcementRig([{ locationId: 'quay', permanentLimitKw: 60, chargers: [{}, {}, {}] }]);
    await rig.lock('quay-1', 13.8);
    await rig.lock('quay-2', 13.8);
    await rig.until('the locks are served', () => heldA().slice(0, 2).join() === '20,20', 60);
    await rig.limitLocation('quay', 5, { lastsS: 300 });
    rig.limitOf('quay').becomes(2 * KW_OF_6_A, 15);
    rig.limitOf('quay').becomes(60, 300);
    await rig.pass(30);
    expect(heldA()).toEqual([6, 6, 0]);
    expect(await rig.alarms('quay', 'LIMIT_UNATTAINABLE')).toEqual([
      expect.objectContaining({ controllerUuid: null, endedAt: null }),
    ]);
    // Heartbeats lose no state and raise no second alarm.
    await rig.pass(240);
    expect(heldA()).toEqual([6, 6, 0]);
    await rig.pass(60);
    expect(await rig.alarms('quay', 'LIMIT_UNATTAINABLE')).toEqual([
      expect.objectContaining({ endedAt: expect.any(String) }),
    ]);
  });

  it('is paused by a grid operator if the file allows it, with the reason', async () => {
    const lostAfterMs = 7_200_000;
    const operator = { operatorUuid: 'dso', mqttSecretHash: undefined, failsafeKw: 5 };
    rig = await createEnforcementRig([
      {
        locationId: 'quay',
        permanentLimitKw: 60,
        operator: { ...operator, failsafeMinMs: lostAfterMs, missingAfterMs: lostAfterMs },
        chargers: [{ operatorMayPause: true, neverPause: true }, { operatorMayPause: true }],
      },
    ]);
    await rig.lock('quay-1', 13.8);
    await rig.lock('quay-2', 13.8);
    await rig.until('one runs', () => heldA().join() === '7.2,0', 60);
    await rig.pass(60);
    expect(heldA()).toEqual([7.2, 0]);
    expect(rig.charger('quay-2').reason()).toBe('paused');
    const { body } = await rig.call('GET', '/locations/quay/live');
    const { connectors } = locationLiveSchema.parse(body);
    expect(connectors.map(({ explanation }) => explanation)).toEqual([
      expect.stringMatching(
        /^A profile locks the connector, but the limit of 5\.0 kW \(the limit of the grid operator\) does not suffice/,
      ),
      expect.stringMatching(
        /^A profile locks the connector, but the grid operator’s limit does not cover 6 A/,
      ),
    ]);
    expect(await rig.alarms('quay', 'LIMIT_UNATTAINABLE')).toEqual([]);
  });

  it('whose window ends shares with the others again', async () => {
    rig = await createEnforcementRig([{ locationId: 'quay', permanentLimitKw: 24, chargers: [{}, {}, {}] }]);
    await rig.lock('quay-1', 13.8, { lastsS: 120 });
    await rig.until('the lock is served', () => rig.charger('quay-1').heldA() >= 20, 100);
    await rig.pass(100);
    const isShared = () => Math.max(...heldA()) - Math.min(...heldA()) <= 0.2;
    await rig.until('all have the same', isShared, 90);
  });
});
