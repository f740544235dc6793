// Each misbehaviour of a virtual charger acts as documented, and the physical draw stays readable.
import { describe, expect, it } from 'vitest';
import { createByzantineFaults } from '../../sim/charger/byzantine-faults.js';
import type { ChargerMessage } from '../../sim/charger/charger-message.js';
import { HUNGRY } from '../../sim/charger/traffic.js';
import { MISBEHAVIOURS, type Misbehaviour } from '../../sim/charger/traits.js';
import { VirtualCharger } from '../../sim/charger/virtual-charger.js';
import { ackSchema, meterSchema, stateSchema } from '../../src/wire/mqtt.js';
import { ADDRESS, chargerRig, connector } from './charger-rig.js';

function bad(...misbehaviours: Misbehaviour[]) {
  return chargerRig({ traits: { misbehaviours } });
}

/** All raw messages within `seconds` of the charger's start. */
function rawMessages(misbehaviour: Misbehaviour, seconds: number) {
  const charger = new VirtualCharger({
    address: ADDRESS,
    boot: 'boot-1',
    seed: 1,
    startsAtMs: 0,
    traffic: HUNGRY,
    connectors: [connector('1')],
    traits: { misbehaviours: [misbehaviour] },
  });
  charger.connected(0);
  return Array.from({ length: seconds }, (_, s) => charger.takeMessages(1000 * s, 0)).flat();
}

describe('A misbehaving virtual charger', () => {
  it('late-reaction: takes a rise at once, and draws its highest earlier limit within the settling time', () => {
    const rig = bad('late-reaction');
    rig.pass(2);
    expect(rig.drawnA()).toBe(6);
    rig.limit(32);
    rig.limit(10);
    rig.limit(20);
    expect(rig.acks.map(({ result }) => result)).toEqual(['APPLIED', 'APPLIED', 'APPLIED']);
    expect(rig.drawnA()).toBe(32);
    rig.pass(9.999);
    expect(rig.drawnA()).toBe(32);
    rig.pass(0.001);
    expect(rig.drawnA()).toBe(20);
    rig.limit(0);
    rig.pass(9.9);
    expect([rig.drawnA(), rig.meters.at(-1)?.status]).toEqual([20, 'SuspendedEVSE']);
    rig.pass(0.1);
    expect(rig.drawnA()).toBe(0);
  });

  it('late-reaction: draws its limit for the settling time after its lease ends', () => {
    const rig = bad('late-reaction');
    rig.limit(32);
    rig.pass(69.9);
    expect(rig.drawnA()).toBe(32);
    rig.pass(0.1);
    expect(rig.drawnA()).toBe(6);
  });

  it('ignore-limits: acknowledges limits, and draws and reports its hardware maximum', () => {
    const rig = bad('ignore-limits');
    rig.limit(8);
    rig.pass(20);
    expect(rig.acks).toMatchObject([{ result: 'APPLIED', appliedA: 8 }]);
    expect(rig.drawnA()).toBe(32);
    expect(rig.meters.at(-1)).toMatchObject({ powerW: 32 * 690, limitA: 8 });
  });

  it('overdraw: draws its limit times the factor', () => {
    const rig = chargerRig({ traits: { misbehaviours: ['overdraw'], overdrawFactor: 1.25 } });
    rig.limit(16);
    rig.pass(20);
    expect(rig.drawnA()).toBe(20);
    expect(rig.meters.at(-1)?.powerW).toBe(20 * 690);
  });

  it('false-ack: acknowledges at once, and never draws less than its highest limit', () => {
    const rig = bad('false-ack');
    rig.limit(20);
    rig.limit(6);
    expect(rig.acks.map(({ appliedA }) => appliedA)).toEqual([20, 6]);
    rig.pass(20);
    expect(rig.drawnA()).toBe(20);
    expect(rig.meters.at(-1)?.limitA).toBe(6);
  });

  it('impossible-power: follows its limits, and reports an impossible power', () => {
    const rig = bad('impossible-power');
    rig.limit(16);
    rig.pass(20);
    expect(rig.drawnA()).toBe(16);
    expect(rig.meters.at(-1)?.powerW).toBe(9_999_999);
  });

  it('backward-counters: reports a falling energy register and repeated heartbeat numbers', () => {
    const rig = bad('backward-counters');
    rig.pass(120);
    const energies = rig.meters.map(({ energyWh = 0 }) => energyWh);
    expect(energies).toEqual([...energies].sort((a, b) => b - a));
    expect(energies.at(-1)).toBeLessThan(energies[0] ?? 0);
    const numbers = rig.meters.map(({ hb }) => hb);
    expect(new Set(numbers).size).toBeLessThan(numbers.length);
  });

  it('no-ack: follows its limits, and never acknowledges them', () => {
    const rig = bad('no-ack');
    rig.limit(16);
    rig.pass(20);
    expect([rig.drawnA(), rig.acks]).toEqual([16, []]);
    expect(rig.meters.at(-1)).toMatchObject({ epoch: 0, seq: 0 });
  });

  it('power-only: reports only powerW, and draws its hardware maximum', () => {
    const messages = rawMessages('power-only', 60);
    expect(new Set(messages.map(({ kind }) => kind))).toEqual(new Set(['meter']));
    for (const { payload } of messages) expect(Object.keys(JSON.parse(payload))).toEqual(['powerW']);
    expect(JSON.parse(messages.at(-1)?.payload ?? '')).toEqual({ powerW: 32 * 690 });
    const { charger } = bad('power-only');
    expect([charger.takesLimits, charger.lastWill()]).toEqual([false, undefined]);
  });

  it('old-boot: repeats values under an earlier boot id', () => {
    const boots = rawMessages('old-boot', 60)
      .filter(({ kind }) => kind === 'meter')
      .map(({ payload }) => meterSchema.parse(JSON.parse(payload)).boot);
    expect(new Set(boots)).toEqual(new Set(['boot-1', 'a boot that is over']));
  });

  it('others-ids: sends values for another charger', () => {
    const topics = new Set(rawMessages('others-ids', 60).map(({ topic }) => topic));
    expect(topics).toContain('ems/v1/tenant-1/quay%2E1/q1-a-other/c/1/meter');
    expect(topics).toContain('ems/v1/tenant-1/quay%2E1/q1-a/c/1/meter');
  });

  it('flood: sends every value a hundred and one times', () => {
    const meters = rawMessages('flood', 1).filter(({ kind }) => kind === 'meter');
    expect(meters).toHaveLength(101);
  });

  it('garbage: sends invalid messages beside valid ones', () => {
    const messages = rawMessages('garbage', 300);
    const schemas = { ack: ackSchema, meter: meterSchema, state: stateSchema };
    const isMessage = ({ kind, payload }: (typeof messages)[number]) => {
      try {
        return schemas[kind].safeParse(JSON.parse(payload)).success;
      } catch {
        return false;
      }
    };
    const good = messages.filter(isMessage).length;
    expect([good, new Set(messages.map(({ payload }) => payload)).size > 17]).toEqual([
      messages.length / 2,
      true,
    ]);
  });

  it('sends messages unchanged without a misbehaviour', () => {
    const message = { kind: 'meter', topic: 't', payload: '{}', qos: 0, retain: false } as const;
    const honest = createByzantineFaults(ADDRESS, []);
    const told: ChargerMessage[] = [];
    honest.tell(message, told);
    expect(told).toEqual([message]);
    expect(honest.meter({ powerW: 1, hb: 3 })).toEqual({ powerW: 1, hb: 3 });
  });

  it.each(Object.keys(MISBEHAVIOURS) as Misbehaviour[])(
    '%s: repeats its messages with the same seed',
    (kind) => {
      expect(rawMessages(kind, 30)).toEqual(rawMessages(kind, 30));
    },
  );
});
