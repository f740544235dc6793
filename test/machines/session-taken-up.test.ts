// A charger that was charging before the gateway began: what it says first may be of long ago, or not name its transaction.
import { describe, expect, it } from 'vitest';
import type { GatewayRequest } from '../../machines/session/gateway-request.js';
import { TestCharger } from './ocpp-charger.js';

const FIRMWARE = 'Maker Model 1.0';

/** It charges, and has a lease from the gateway before this one. */
function charging(): TestCharger {
  return new TestCharger().connect().boot().pass(2).plugIn().pass(11).grant(16, 6).pass(1);
}

/** The same charger 80 s later, before it connects to another gateway, which knows what the one before has kept. */
function taken(): TestCharger {
  const { store, nowMs, ownOffsetMs, session } = charging();
  const next = new TestCharger({}, { provenFirmware: FIRMWARE, fallbacksA: session.fallbacksA });
  const now = { nowMs: nowMs + 80_000, ownOffsetMs, transaction: 77, isCharging: true };
  return Object.assign(next, { store, ...now });
}

/** The same, and its transaction ended meanwhile. */
function takenIdle(): TestCharger {
  return Object.assign(taken(), { transaction: undefined, isCharging: false });
}

/** It says no values by itself in those seconds. */
function quietly(charger: TestCharger, pass: () => void): void {
  charger.values = () => {};
  pass();
  Reflect.deleteProperty(charger, 'values');
}

function timesAsked(charger: TestCharger, kind: GatewayRequest['kind']): number {
  return charger.requests.filter((request) => request.kind === kind).length;
}

function timesSaid(charger: TestCharger, lease: 'heartbeat' | 'none'): number {
  const states = charger.said.flatMap((message) => (message.kind === 'state' ? [message.body] : []));
  return states.filter(({ connectors = [] }) => connectors[0]?.lease === lease).length;
}

describe('A charger that another gateway takes up', () => {
  it('and that says first what it kept back, has its lease counted anew as soon as its clock is known', () => {
    const charger = taken();
    const { session, nowMs } = charger.connect();
    session.heardStatus(1, 'Charging', undefined, nowMs);
    charger.values({ ownMs: charger.ownMs - 80_000 });
    quietly(charger, () => charger.pass(3).grant(16, 6).pass(1).grant(16, 6));
    expect(charger.lease).toMatchObject({ lease: 'heartbeat' });
    expect(timesSaid(charger, 'none')).toBe(0);
    expect(charger.acks().at(-1)).toMatchObject({ result: 'APPLIED', appliedA: 16 });
    expect(charger.limit).toBe(16);
  });

  it('and that says only that a car is there, is given no limit of before a transaction', () => {
    const charger = taken();
    charger.connect().status('Preparing');
    quietly(charger, () => charger.renewed(9, 16, 6));
    expect(charger.meters()).toEqual([]);
    charger.renewed(4, 16, 6);
    expect(charger.meters()[0]?.powerW).toBeGreaterThan(0);
    expect(charger.acks().at(-1)).toMatchObject({ result: 'APPLIED', appliedA: 16 });
    expect(charger.requests).not.toContainEqual(
      expect.objectContaining({ kind: 'setLease', slot: 'default' }),
    );
  });

  it('and whose car does not charge, is idle once it had the time to say values, and on its next connection at once', () => {
    const charger = takenIdle();
    charger.connect().status('Preparing').pass(12);
    expect(charger.meters()).toEqual([]);
    charger.pass(1);
    expect(charger.meters()).toMatchObject([{ status: 'Preparing', powerW: 0 }]);
    charger.cut().connect().pass(2);
    expect(charger.meters()).toHaveLength(2);
  });

  it('and that starts with a car there, is idle at once', () => {
    const charger = takenIdle();
    charger.connect().boot().status('Preparing').pass(2);
    expect(charger.meters().at(-1)).toMatchObject({ status: 'Preparing', powerW: 0 });
  });

  it('and that has no car, is idle at once, and is not asked for values', () => {
    const charger = takenIdle();
    charger.connect().status('Available').pass(3);
    expect(charger.meters()[0]).toMatchObject({ status: 'Available', powerW: 0 });
    expect(timesAsked(charger, 'sample')).toBe(1);
    expect(timesAsked(charger, 'askValues')).toBe(0);
  });

  it('and that has said values, is not asked for them', () => {
    const charger = taken();
    charger.connect().status('Charging').pass(3);
    expect(timesAsked(charger, 'sample')).toBe(1);
    expect(timesAsked(charger, 'askValues')).toBe(0);
  });

  it('and that starts, is asked for its values, though it says by itself that it charges', () => {
    const charger = taken();
    charger.connect().boot();
    quietly(charger, () => charger.pass(2));
    expect(timesAsked(charger, 'askValues')).toBe(1);
  });

  it('and that does not say what it is asked to say, is made ready without, and asked again every 30 s', () => {
    const charger = taken();
    charger.failing = 'askStatus';
    charger.connect();
    quietly(charger, () => charger.pass(3));
    expect(timesAsked(charger, 'sample')).toBe(1);
    expect(timesAsked(charger, 'askValues')).toBe(1);
    expect(timesAsked(charger, 'askStatus')).toBe(1);
    quietly(charger, () => charger.pass(30));
    expect(timesAsked(charger, 'askStatus')).toBe(2);
    quietly(charger, () => charger.pass(30));
    expect(timesAsked(charger, 'askStatus')).toBe(3);
  });

  it('and that refuses to say what it is asked to say, is made ready without, and asked once more', () => {
    const charger = taken();
    charger.refusing = 'askStatus';
    charger.connect();
    quietly(charger, () => charger.pass(3));
    expect(timesAsked(charger, 'sample')).toBe(1);
    expect(timesAsked(charger, 'askStatus')).toBe(1);
    quietly(charger, () => charger.pass(90));
    expect(timesAsked(charger, 'askStatus')).toBe(2);
  });
});
