// Plan and forecast of declared departures on a whole service, and the alarm of a car that will not be ready.
import { afterEach, describe, expect, it } from 'vitest';
import type { PolicyName } from '../../machines/policy/policies.js';
import { HUNGRY } from '../../sim/charger/traffic.js';
import { departurePlanSchema, sessionSchema } from '../../src/features/departures/contract.js';
import { locationLiveSchema } from '../../src/features/live-contract.js';
import { bodyOf } from '../service/answers.js';
import { createEnforcementRig, type EnforcementRig } from './enforcement-rig.js';

const HOUR_MS = 3_600_000;

let rig: EnforcementRig;
afterEach(() => rig.stop());

/** Two cars that could take 22 kW each. */
async function start(permanentLimitKw: number, policy: PolicyName): Promise<void> {
  const chargers = [1, 2].map(() => ({ traffic: HUNGRY, failsafeA: 0 }));
  rig = await createEnforcementRig([{ locationId: 'yard', permanentLimitKw, policy, chargers }]);
  await rig.pass(30);
}

const sessionOf = (nth: number) => `/chargers/yard-${nth}/connectors/1/session`;

async function declare(nth: number, departsAtMs: number, energyNeedKwh: number) {
  const departureTime = new Date(departsAtMs).toISOString();
  const answer = await rig.call('PUT', sessionOf(nth), { departureTime, energyNeedKwh });
  return bodyOf(answer, sessionSchema);
}

const plan = async () => bodyOf(await rig.call('GET', '/locations/yard/plan'), departurePlanSchema);

describe('A plan of a location', () => {
  it('is empty while no car has declared a departure and a need', async () => {
    await start(20, 'energy');
    await rig.call('PUT', sessionOf(1), { priority: 3 });
    expect(await plan()).toMatchObject({ policy: 'energy', steps: [], departures: [] });
    expect(bodyOf(await rig.call('GET', sessionOf(1)), sessionSchema)).toMatchObject({ forecast: null });
  });

  it('knows the limits ahead and the share of other cars, and predicts when a car has its energy', async () => {
    await start(40, 'energy');
    const atMs = rig.clock.nowMs();
    // 20 kW for an hour, half of it for the other car, and then 40 kW.
    await rig.limitLocation('yard', 20, { lastsS: 3_600 });
    await declare(2, atMs + 3 * HOUR_MS, 15);
    const { steps, departures } = await plan();
    const limitsKw = steps.map(({ limitKw, endTime }) => [limitKw, Date.parse(endTime) <= atMs + HOUR_MS]);
    expect(new Set(limitsKw.map(String))).toEqual(new Set(['20,true', '40,false']));
    expect(departures).toMatchObject([{ controllerUuid: 'yard-2', missingKwh: 0, isAtRisk: false }]);
    expect(departures[0]?.powerKw[0]).toBeCloseTo(10, 0);
    expect(steps[0]?.otherKw).toBeCloseTo(10, 0);
    const readyAtMs = Date.parse(departures[0]?.readyAt ?? '');
    expect(Math.abs(readyAtMs - atMs - 1.25 * HOUR_MS)).toBeLessThan(3 * 60_000);
  });

  it('has no more power for cars in an order and for others than the limit', async () => {
    const chargers = [1, 2, 3, 4].map(() => ({ traffic: HUNGRY, failsafeA: 0 }));
    rig = await createEnforcementRig([
      { locationId: 'yard', permanentLimitKw: 29.99, policy: 'energy', chargers },
    ]);
    await rig.pass(30);
    const atMs = rig.clock.nowMs();
    for (const nth of [1, 2]) await declare(nth, atMs + 3 * HOUR_MS, 20);
    const { steps, departures } = await plan();
    expect(steps.length).toBeGreaterThan(5);
    for (const [nth, { limitKw, otherKw }] of steps.entries()) {
      const sumKw = departures.reduce((sum, { powerKw }) => sum + (powerKw[nth] ?? 0), otherKw);
      expect(sumKw).toBeLessThanOrEqual(limitKw + 0.001);
      expect(sumKw).toBeGreaterThan(limitKw - 0.5);
    }
  });

  it('counts a connector of one phase, and a car that uses one of three', async () => {
    const traffic = { ...HUNGRY, singlePhaseShare: 1 };
    const chargers = [
      { traffic: HUNGRY, failsafeA: 0, phases: 1 as const },
      { traffic, failsafeA: 0 },
    ];
    rig = await createEnforcementRig([{ locationId: 'yard', permanentLimitKw: 50, chargers }]);
    await rig.pass(30);
    const atMs = rig.clock.nowMs();
    for (const nth of [1, 2]) {
      const { forecast } = await declare(nth, atMs + 3 * HOUR_MS, 7.36);
      expect(Math.abs(Date.parse(forecast?.readyAt ?? '') - atMs - HOUR_MS)).toBeLessThan(3 * 60_000);
    }
  });

  it.each(['energy', 'fair', 'onTime'] as const)('is what the policy %s then does', async (policy) => {
    await start(14, policy);
    const atMs = rig.clock.nowMs();
    const predicted = [await declare(1, atMs + HOUR_MS, 4), await declare(2, atMs + HOUR_MS / 2, 2)];
    const readyAtMs: number[] = [];
    for (const [i, { forecast }] of predicted.entries()) {
      const { forecast: last } = bodyOf(await rig.call('GET', sessionOf(i + 1)), sessionSchema);
      expect(last?.readyAt, `${forecast?.explanation}`).not.toBeNull();
      readyAtMs.push(Date.parse(last?.readyAt ?? ''));
    }
    for (const [nth, predictedMs] of [...readyAtMs.entries()].sort(([, a], [, b]) => a - b)) {
      let deliveredKwh = 0;
      const neededKwh = nth === 0 ? 4 : 2;
      while (deliveredKwh < neededKwh) {
        await rig.pass(30, 10);
        ({ deliveredKwh } = bodyOf(await rig.call('GET', sessionOf(nth + 1)), sessionSchema));
      }
      expect(Math.abs(rig.clock.nowMs() - predictedMs) / 60_000).toBeLessThan(3);
    }
  });
});

describe('A plan of the policy energy', () => {
  it('keeps a car that charges before one with a little less time, as the policy does', async () => {
    await start(14, 'energy');
    const atMs = rig.clock.nowMs();
    await declare(1, atMs + 3 * HOUR_MS, 20);
    await declare(2, atMs + 20 * HOUR_MS, 20);
    const hasMost = () => rig.charger('yard-1').heldA() > rig.charger('yard-2').heldA();
    await rig.until('the first car has most', hasMost, 300);
    await declare(2, atMs + 2.8 * HOUR_MS, 20);
    await rig.pass(120, 10);
    expect(hasMost()).toBe(true);
    const { departures } = await plan();
    const [later, sooner] = ['yard-1', 'yard-2'].map(
      (charger) => departures.find(({ controllerUuid }) => controllerUuid === charger)?.powerKw[0] ?? 0,
    );
    expect(later).toBeGreaterThan(sooner ?? 0);
  });
});

describe('The policy onTime', () => {
  it('serves another car once a limit ahead leaves too little for the largest need', async () => {
    await start(11, 'onTime');
    const atMs = rig.clock.nowMs();
    await declare(1, atMs + 3 * HOUR_MS, 13);
    await declare(2, atMs + 3.3 * HOUR_MS, 9);
    const isServed = (nth: number) => () =>
      rig.charger(`yard-${nth}`).heldA() > rig.charger(`yard-${3 - nth}`).heldA();
    await rig.until('the car with less time has most', isServed(1), 120);
    const { departures: before } = await plan();
    expect(before.map(({ missingKwh }) => missingKwh)).toEqual([0, 0]);
    await rig.limitLocation('yard', 1, { startsInS: 3_600, lastsS: 36_000 });
    await rig.until('the car with the smaller need has most', isServed(2), 120);
    await rig.pass(30);
    const { departures } = await plan();
    expect(departures.map(({ isAtRisk }) => isAtRisk)).toEqual([true, false]);
  });

  it('serves the smaller need of a feeder that cannot carry both in time', async () => {
    const chargers = [1, 2, 3].map((nth) => ({
      traffic: HUNGRY,
      failsafeA: 0,
      ...(nth < 3 && { feeder: 'hall' }),
    }));
    const feeders = [{ name: 'hall', currentA: [16, 16, 16] as const, parent: null }];
    rig = await createEnforcementRig([
      { locationId: 'yard', permanentLimitKw: 60, policy: 'onTime', feeders, chargers },
    ]);
    await rig.pass(30);
    const departsAtMs = rig.clock.nowMs() + HOUR_MS;
    await declare(1, departsAtMs, 11);
    await declare(2, departsAtMs, 7);
    await declare(3, departsAtMs, 20);
    await rig.pass(60, 10);
    expect([1, 2, 3].map((nth) => rig.charger(`yard-${nth}`).heldA())).toEqual([0, 16, 32]);
  });
});

describe('A car below its minimum', () => {
  it('charges in place of one that has more than its own, also if their fail-safes do not fit', async () => {
    const chargers = [1, 2, 3].map(() => ({ traffic: HUNGRY, failsafeA: 6 }));
    rig = await createEnforcementRig([
      { locationId: 'yard', permanentLimitKw: 15, policy: 'energy', chargers },
    ]);
    await rig.pass(30);
    await rig.limitLocation('yard', 10, { lastsS: 9 * 3_600 });
    await rig.pass(300);
    const departureTime = new Date(rig.clock.nowMs() + 8 * HOUR_MS).toISOString();
    const deliveredKwh: number[] = [];
    for (const nth of [1, 2, 3])
      deliveredKwh.push(bodyOf(await rig.call('GET', sessionOf(nth)), sessionSchema).deliveredKwh);
    const waiting = 1 + deliveredKwh.indexOf(Math.min(...deliveredKwh));
    for (const nth of [1, 2, 3]) {
      const minimumEnergyKwh = nth === waiting ? 5 : 0;
      await rig.call('PUT', sessionOf(nth), { departureTime, energyNeedKwh: 60, minimumEnergyKwh });
    }
    await rig.pass(300);
    const { deliveredKwh: afterKwh } = bodyOf(await rig.call('GET', sessionOf(waiting)), sessionSchema);
    expect(afterKwh - Math.min(...deliveredKwh)).toBeGreaterThan(0.1);
  });
});

describe('A car that will not be ready', () => {
  it('raises DEPARTURE_AT_RISK with a way out, which ends with the reason', async () => {
    await start(14, 'onTime');
    const departsAtMs = rig.clock.nowMs() + 2 * HOUR_MS;
    await declare(1, departsAtMs, 13);
    await rig.pass(61, 10);
    expect(await rig.alarms('yard')).toEqual([]);
    await rig.limitLocation('yard', 10, { lastsS: 36_000, priority: 2 });
    await rig.pass(61, 10);
    const [alarm] = await rig.alarms('yard');
    expect(alarm).toMatchObject({ kind: 'DEPARTURE_AT_RISK', controllerUuid: 'yard-1', endedAt: null });
    expect(alarm?.reason).toMatch(
      /^The car will miss \d of 13 kWh at its departure, .*Z\. A limit that is \d(\.\d)? kW higher until then helps/,
    );
    const { departures } = bodyOf(await rig.call('GET', '/locations/yard/live'), locationLiveSchema);
    expect(departures).toMatchObject([{ controllerUuid: 'yard-1', readyAt: null, isAtRisk: true }]);
    await rig.cut(rig.charger('yard-1'));
    await rig.pass(120, 10);
    expect(await rig.alarms('yard', 'DEPARTURE_AT_RISK')).toMatchObject([{ endedAt: null }]);
    await rig.restore(rig.charger('yard-1'));
    await rig.call('DELETE', '/locations/yard/schedules/2');
    await rig.pass(121, 10);
    expect(await rig.alarms('yard', 'DEPARTURE_AT_RISK')).toMatchObject([{ endedAt: expect.any(String) }]);
  });

  it('is told apart from one that no limit can help', async () => {
    await start(14, 'onTime');
    const { forecast } = await declare(1, rig.clock.nowMs() + HOUR_MS, 80);
    expect(forecast).toMatchObject({ readyAt: null, isAtRisk: true });
    expect(forecast?.explanation).toContain('It draws at most 22.1 kW, so no limit helps');
  });
});

describe('Cars that declare nothing', () => {
  it('have their turns beside cars in an order, while not all minimums fit', async () => {
    const chargers = [1, 2, 3, 4, 5].map(() => ({ traffic: HUNGRY, failsafeA: 0 }));
    rig = await createEnforcementRig([
      { locationId: 'yard', permanentLimitKw: 8.4, policy: 'energy', chargers },
    ]);
    await rig.pass(30);
    for (const nth of [1, 2, 3]) await declare(nth, rig.clock.nowMs() + 20 * HOUR_MS, 200);
    const deliveredKwh = async (nth: number) =>
      bodyOf(await rig.call('GET', sessionOf(nth)), sessionSchema).deliveredKwh;
    for (let hour = 0; hour < 10; hour += 5) {
      const before = [await deliveredKwh(4), await deliveredKwh(5)];
      await rig.pass(5 * 3_600);
      for (const [i, beforeKwh] of before.entries())
        expect((await deliveredKwh(4 + i)) - beforeKwh, `car ${4 + i}, hour ${hour}`).toBeGreaterThan(4);
    }
  });
});
