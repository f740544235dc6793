// Byzantine chargers that report false values, flood or send nonsense. Each loses its own power, and no other loses
// any.
import { afterEach, describe, expect, it } from 'vitest';
import { HUNGRY } from '../../sim/charger/traffic.js';
import type { Misbehaviour } from '../../sim/charger/traits.js';
import { createEnforcementRig, type EnforcementRig } from './enforcement-rig.js';
import type { RigCharger } from './rig-charger.js';

const LIMIT_KW = 44;
const MAXIMUM_KW = 32 * 0.69;

let rig: EnforcementRig;
afterEach(() => rig.stop());

async function runWith(bad: Misbehaviour, staysS?: number): Promise<void> {
  const traffic =
    staysS === undefined
      ? HUNGRY
      : { ...HUNGRY, stayS: [staysS, staysS] as const, gapS: [1e6, 1e6] as const };
  const chargers = [{ traffic, traits: { misbehaviours: [bad] } }, {}, {}];
  rig = await createEnforcementRig([{ locationId: 'quay', permanentLimitKw: LIMIT_KW, chargers }]);
}

const honest = (): readonly RigCharger[] => rig.chargers.slice(1);
const honestKw = () => honest().reduce((sum, charger) => sum + charger.drawnA() * 0.69, 0);

/** The honest chargers hold grants and draw all the remaining power. */
async function othersAreServed(leftKw: number): Promise<void> {
  const isSo = () => honest().every((charger) => charger.holdsLease()) && honestKw() > 0.9 * leftKw;
  await rig.until('others are served', isSo, 150);
  await rig.pass(60);
  expect(honest().every((charger) => charger.holdsLease())).toBe(true);
  expect(honestKw()).toBeGreaterThan(0.9 * leftKw);
}

async function nonCompliant() {
  return (await rig.alarms('quay', 'NON_COMPLIANT')).map(({ controllerUuid, endedAt }) => ({
    controllerUuid,
    isOver: endedAt !== null,
  }));
}

describe('a charger that draws more than it may (rule 8)', () => {
  it.each([{ bad: 'ignore-limits' }, { bad: 'overdraw' }, { bad: 'false-ack' }] as const)(
    'has its maximum reserved, and the others make room: $bad',
    async ({ bad }) => {
      await runWith(bad);
      rig.limitOf('quay').becomes(1000);
      if (bad !== 'ignore-limits') {
        // Until it is sent a lower limit, the charger has none to ignore.
        await rig.until('all are served', () => rig.chargers.every((charger) => charger.heldA() > 20), 150);
        await rig.limitLocation('quay', 36);
      }
      rig.limitOf('quay').becomes(bad === 'ignore-limits' ? LIMIT_KW : 36, 60);
      await rig.pass(60);
      expect(await nonCompliant()).toEqual([{ controllerUuid: 'quay-1', isOver: false }]);
      await othersAreServed((bad === 'ignore-limits' ? LIMIT_KW : 36) - MAXIMUM_KW);
      expect(await nonCompliant()).toHaveLength(1);
    },
  );

  it('is trusted again a minute after it stopped: the alarm ends, and others have the freed power', async () => {
    await runWith('ignore-limits', 120);
    rig.limitOf('quay').becomes(1000);
    rig.limitOf('quay').becomes(LIMIT_KW, 60);
    await rig.pass(110);
    expect(await nonCompliant()).toEqual([{ controllerUuid: 'quay-1', isOver: false }]);
    await othersAreServed(LIMIT_KW - MAXIMUM_KW);
    await rig.pass(30);
    expect(await nonCompliant()).toEqual([{ controllerUuid: 'quay-1', isOver: true }]);
    await othersAreServed(LIMIT_KW);
  });

  it('is not trusted by a service that starts again', async () => {
    await runWith('ignore-limits');
    rig.limitOf('quay').becomes(1000);
    rig.limitOf('quay').becomes(LIMIT_KW, 60);
    await rig.pass(90);
    await rig.restartService(5);
    await rig.pass(30);
    await othersAreServed(LIMIT_KW - MAXIMUM_KW);
    expect(await nonCompliant()).toEqual([{ controllerUuid: 'quay-1', isOver: false }]);
  });
});

describe('a charger that lies, floods or sends garbage', () => {
  it.each([
    { bad: 'backward-counters', counter: 'mqttMessages', labels: { result: 'stale' }, leftKw: LIMIT_KW / 2 },
    { bad: 'old-boot', counter: 'mqttMessages', labels: { result: 'stale' }, leftKw: LIMIT_KW - MAXIMUM_KW },
    {
      bad: 'others-ids',
      counter: 'mqttRefusals',
      labels: { reason: 'topic' },
      leftKw: LIMIT_KW - MAXIMUM_KW,
    },
    { bad: 'flood', counter: 'mqttMessages', labels: { result: 'limited' }, leftKw: LIMIT_KW / 2 },
    { bad: 'garbage', counter: 'mqttMessages', labels: { result: 'malformed' }, leftKw: LIMIT_KW / 2 },
  ] as const)('is counted, and the others go on being served: $bad', async (of) => {
    await runWith(of.bad);
    await othersAreServed(of.leftKw);
    expect(await rig.counted(of.counter, of.labels)).toBeGreaterThan(0);
  });

  it('about its power has its maximum reserved for as long as it does so', async () => {
    await runWith('impossible-power');
    await othersAreServed(LIMIT_KW - MAXIMUM_KW);
    expect(await nonCompliant()).toEqual([{ controllerUuid: 'quay-1', isOver: false }]);
  });

  it('never acknowledges a limit: the earlier one stays reserved for as long as its lease', async () => {
    await runWith('no-ack');
    await othersAreServed(LIMIT_KW / 2);
  });

  it('loses its fall-back over a restart: its own fail-safe is reserved', async () => {
    await runWith('forget-then');
    await rig.limitLocation('quay', 15);
    rig.limitOf('quay').becomes(15, 15);
    await rig.pass(60);
    rig.charger('quay-1').link.reboot('another boot');
    await rig.pass(120);
    await othersAreServed(15 / 2);
  });
});
