// A DC connector in a session: limits in W or A at the car, the fail-safe, and the power of its meter values (R39, R40).
import { describe, expect, it } from 'vitest';
import { ampereOfDcW, dcOutputOf } from '../../machines/session/dc-output.js';
import type { MeteredValues } from '../../machines/session/gateway-request.js';
import { type Behaviour, TestCharger } from './ocpp-charger.js';

/** 50 kW at the car and 5 kW at least, at 500 V at most. */
const DC = dcOutputOf({ voltageV: 230, dc: { maxPowerKw: 50, minPowerKw: 5, efficiency: 0.9 } }, 500);
const FAILSAFE_W = 5_000;

/** The service sends A per grid phase as well: another value, so that a use of it shows. */
const granted = (limitW: number, thenW: number) => ({ limitW, thenW });

function connected(behaviour: Behaviour = {}): TestCharger {
  const failsafeA = ampereOfDcW(FAILSAFE_W, DC);
  return new TestCharger(behaviour, { dc: DC, failsafeA }).connect().boot().pass(3);
}

function charging(behaviour: Behaviour = {}): TestCharger {
  return connected(behaviour).plugIn().pass(2);
}

/** One value of a car at 400 V. */
function valuesOf(more: Partial<MeteredValues>): Partial<MeteredValues> {
  return { powerW: undefined, currentA: undefined, namesPhases: false, voltageV: undefined, ...more };
}

function metered(more: Partial<MeteredValues>) {
  const charger = charging();
  charger.values(valuesOf(more));
  charger.pass(2);
  return charger.meters().at(-1);
}

describe('A DC connector', () => {
  it('gets watts without phases, shows that they end, and has its lease', () => {
    const charger = charging().grant(32, 6, granted(20_000, 5_000)).pass(2);
    const lease = charger.requests.findLast(({ kind }) => kind === 'setLease');
    expect(lease).toMatchObject({
      schedule: { unit: 'W', limit: 20_000, thenLimit: 5_000, phases: undefined },
    });
    expect(charger.stated).toMatchObject({ lease: 'heartbeat', failsafeW: 5_000, minW: 5_000, maxW: 50_000 });
    expect(charger.acks().at(-1)).toMatchObject({ result: 'APPLIED', appliedW: 20_000 });
    expect(charger.acks().at(-1)).not.toHaveProperty('appliedA');
    expect(charger.pass(10).meters().at(-1)).toMatchObject({ limitW: 20_000 });
    expect(charger.meters().at(-1)).not.toHaveProperty('limitA');
  });

  it.each([
    ['takes amperes only', { abilities: { units: ['A'] } }],
    ['refuses watts', { only: 'A' }],
  ] as const)('that %s gets them for its highest voltage, rounded down', (_, behaviour) => {
    const charger = charging(behaviour);
    for (let i = 0; i < 4; i++) charger.grant(32, 6, granted(20_020, 5_000)).pass(5);
    const lease = charger.requests.findLast(({ kind }) => kind === 'setLease');
    expect(lease).toMatchObject({ schedule: { unit: 'A', limit: 40, thenLimit: 10 } });
    expect(charger.stated).toMatchObject({ lease: 'heartbeat' });
    expect(charger.acks().at(-1)).toMatchObject({ result: 'APPLIED', appliedW: 20_020 });
  });

  it.each([
    ['its voltage', { totalVoltageV: 400 }],
    ['its power and its current', { powerW: 14_400, totalVoltageV: undefined }],
  ])('in amperes reports the part of its limit that the car can use, by %s', (_, more) => {
    const charger = charging({ only: 'A' });
    for (let i = 0; i < 4; i++) charger.grant(32, 6, granted(20_000, 5_000)).pass(5);
    const car = { powerW: 14_400, currentA: [36, 36, 36] as const, ...more };
    charger.values(valuesOf(car));
    charger.pass(1);
    expect(charger.meters().at(-1)).toMatchObject({ limitW: 16_000 });
    expect(charger.acks().at(-1)).toMatchObject({ appliedW: 20_000 });
  });

  describe('in amperes that measures power alone', () => {
    /** Its limit is 40 A after a grant of 20 kW. */
    function inAmperes(): TestCharger {
      const charger = connected({ only: 'A' }).plugIn();
      // The test reports the draw.
      charger.isCharging = false;
      charger.pass(2);
      for (let i = 0; i < 4; i++) charger.grant(32, 6, granted(20_000, 5_000)).pass(5);
      return charger;
    }
    function reportedW(charger: TestCharger, powerW: number): number | undefined {
      charger.values(valuesOf({ powerW }));
      charger.pass(1);
      return charger.meters().at(-1)?.limitW;
    }

    it('reports the part of its limit that its car has shown to use, so that a car that uses all of it keeps its share', () => {
      const charger = inAmperes();
      expect(reportedW(charger, 16_000)).toBe(16_000);
      // It is full soon, and takes less.
      expect(reportedW(charger, 9_000)).toBe(16_000);
      expect(charger.acks().at(-1)).toMatchObject({ appliedW: 20_000 });
    });

    it('counts no car below 150 V, so that a car without draw does not use its limit', () => {
      expect(reportedW(inAmperes(), 0)).toBe(6_000);
    });

    it('takes no draw under an earlier and higher limit for a higher voltage', () => {
      const charger = inAmperes();
      reportedW(charger, 16_000);
      charger.grant(32, 6, granted(10_000, 5_000)).pass(2);
      expect(reportedW(charger, 16_000)).toBe(8_000);
      charger.pass(15);
      expect(reportedW(charger, 8_400)).toBe(8_400);
    });

    it('counts the next car anew', () => {
      const charger = inAmperes();
      reportedW(charger, 16_000);
      charger.unplug().pass(1);
      charger.plugIn(78).isCharging = false;
      for (let i = 0; i < 4; i++) charger.grant(32, 6, granted(20_000, 5_000)).pass(5);
      expect(reportedW(charger, 8_000)).toBe(8_000);
    });
  });

  it('that shows more watts than its grant has no lease', () => {
    const charger = charging({ ignores: true }).grant(32, 6, granted(20_000, 5_000)).pass(30);
    expect(charger.stated).toMatchObject({ lease: 'none' });
  });

  it('starts with its fail-safe in watts, and gets another one from its grant', () => {
    const charger = charging();
    const failsafes = () => charger.requests.filter(({ kind }) => kind === 'setFailsafe');
    expect(failsafes().at(-1)).toMatchObject({ unit: 'W', limit: 5_000 });
    charger.grant(32, 6, granted(20_000, 6_000)).pass(3);
    expect(failsafes().at(-1)).toMatchObject({ unit: 'W', limit: 6_000 });
  });

  it('is paused below its least power, and takes no such grant', () => {
    const charger = charging().grant(32, 6, granted(4_999, 0)).pass(1);
    expect(charger.acks().at(-1)).toMatchObject({ result: 'REJECTED' });
    charger.grant(32, 6, granted(20_000, 0)).pass(2);
    expect(charger.acks().at(-1)).toMatchObject({ result: 'APPLIED' });
    charger.ceilingA = ampereOfDcW(4_000, DC);
    charger.session.review(charger.nowMs);
    charger.pass(2);
    expect(charger.limit).toBe(0);
  });

  it('ignores A per grid phase: without watts its limit is 0', () => {
    const charger = charging().grant(32, 6).pass(2);
    expect(charger.limit).toBe(0);
  });

  it('reports its power at the car, and its current on no phase of the grid', () => {
    const body = metered({ powerW: 18_000, socPercent: 63, currentA: [45, 45, 45], totalVoltageV: 400 });
    expect(body).toMatchObject({ powerW: 18_000, socPercent: 63 });
    expect(body).not.toHaveProperty('currentA');
  });

  it.each([
    ['the measured voltage', 400, 18_000],
    ['its highest one without a measurement', undefined, 22_500],
  ])('without a measured power counts its current at %s', (_, totalVoltageV, powerW) => {
    expect(metered({ currentA: [45, 45, 45], totalVoltageV })).toMatchObject({ powerW });
  });
});
