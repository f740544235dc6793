// The cap of a cluster in enforcement: all members together never exceed it while shares move between them.
import { afterEach, describe, expect, it } from 'vitest';
import { clusterSchema } from '../../src/features/clusters/contract.js';
import { bodyOf } from '../service/answers.js';
import { createEnforcementRig, type EnforcementRig } from './enforcement-rig.js';
import type { Measure } from './measure.js';
import { connectNaiveCharger } from './naive-charger.js';

const LATE = { traits: { misbehaviours: ['late-reaction'] } } as const;
const MEMBERS = ['east', 'west'] as const;
const CAP_KW = 44;

let rig: EnforcementRig;
let together: Measure;
afterEach(() => rig.stop());

async function runCluster(): Promise<string> {
  rig = await createEnforcementRig(
    MEMBERS.map((locationId) => ({
      locationId,
      permanentLimitKw: 44,
      chargers: [LATE, { traits: { driftShare: 0.019 } }],
    })),
  );
  const answer = await rig.call('POST', '/clusters', {
    name: 'Both',
    locationIds: MEMBERS,
    limitKw: CAP_KW,
  });
  await rig.settle();
  together = rig.holdTogether(MEMBERS, 88);
  together.becomes(CAP_KW, 15);
  await drawing({ east: 22, west: 22 });
  return bodyOf(answer, clusterSchema, 201).clusterId;
}

/** Resolves after each member draws nearly its share. */
async function drawing(sharesKw: Readonly<Record<'east' | 'west', number>>, withinS = 150): Promise<number> {
  const isSo = () =>
    MEMBERS.every((id) => rig.powerKw(id) > 0.9 * sharesKw[id] && rig.powerKw(id) <= sharesKw[id] + 1e-6);
  return rig.until(`east and west draw ${sharesKw.east} and ${sharesKw.west} kW`, isSo, withinS);
}

describe('the members of a cluster', () => {
  it('never exceed its cap together while shares move to and fro', async () => {
    await runCluster();
    // West asks for a quarter of the power of east, then for the same power.
    await rig.limitLocation('west', 11, { startsInS: 100, lastsS: 200 });
    rig.limitOf('west').becomes(11, 100);
    rig.limitOf('west').becomes(44, 300);
    await rig.pass(100);
    await drawing({ east: 35.2, west: 8.8 });
    await rig.pass(300 - rig.clock.monotonicMs() / 1000);
    await drawing({ east: 22, west: 22 }, 300);
  });

  it('have their own limit as the cause, if the cap leaves each all of it', async () => {
    rig = await createEnforcementRig(
      MEMBERS.map((locationId) => ({ locationId, permanentLimitKw: 22, chargers: [LATE, LATE] })),
    );
    await rig.call('POST', '/clusters', { name: 'Wide', locationIds: MEMBERS, limitKw: 100 });
    await drawing({ east: 22, west: 22 });
    await rig.pass(60);
    const reasons = new Set(
      rig.chargers.flatMap(({ charger }) => charger.limits().map(({ reason }) => reason)),
    );
    expect([...reasons]).toEqual(['fairShare']);
  });

  it('never exceed it while one that has to give is out of reach: the other waits for its lease', async () => {
    await runCluster();
    await rig.limitLocation('west', 11);
    rig.limitOf('west').becomes(11, 15);
    await drawing({ east: 35.2, west: 8.8 });
    const [silent, gone] = rig.chargers.filter(({ locationId }) => locationId === 'east');
    silent?.setMute(true);
    if (gone !== undefined) await rig.cut(gone);
    // East now has to give up power before west may use it.
    await rig.limitLocation('west', 44, { priority: 1 });
    rig.limitOf('west').becomes(44);
    await rig.pass(45);
    expect(rig.powerKw('west')).toBeLessThan(9);
    await rig.until('west has its share', () => rig.powerKw('west') > 0.9 * 22, 120);
  });

  it('lower no charger without a lease for one that needs more than its share, as they lower nobody else', async () => {
    rig = await createEnforcementRig([
      {
        locationId: 'east',
        permanentLimitKw: 44,
        chargers: [{ traits: { lease: 'none' }, maxCurrentA: 16 }],
      },
      { locationId: 'west', permanentLimitKw: 44, chargers: [{ isAbsent: true, failsafeA: 0 }, {}] },
    ]);
    await rig.call('POST', '/clusters', { name: 'Both', locationIds: MEMBERS, limitKw: CAP_KW });
    const [simple, other] = [rig.charger('east-1'), rig.charger('west-2')];
    await rig.until('both charge', () => simple.heldA() === 16 && other.drawnA() > 25, 150);
    const joining = await connectNaiveCharger(rig, 'west', 'west-1');
    await joining.state({ lease: 'none', keepsThen: true, failsafeA: 0 });
    for (let second = 0; second < 30; second++) {
      if (second % 10 === 0) await joining.meter(0, { status: 'SuspendedEVSE' });
      await rig.pass(1);
      expect(simple.heldA()).toBe(16);
    }
    await joining.stop();
  });

  it('keep to a cap that is lowered, raised and taken away', async () => {
    const clusterId = await runCluster();
    await rig.call('PATCH', `/clusters/${clusterId}`, { limitKw: 20 });
    together.becomes(20, 15);
    await drawing({ east: 10, west: 10 });
    together.becomes(60);
    await rig.call('PATCH', `/clusters/${clusterId}`, { limitKw: 60 });
    await drawing({ east: 30, west: 30 });
    together.becomes(88);
    await rig.call('DELETE', `/clusters/${clusterId}`);
    await drawing({ east: 44, west: 44 });
  });

  it('keep to it when the service starts again', async () => {
    await runCluster();
    await rig.restartService(10);
    await rig.pass(60);
    await drawing({ east: 22, west: 22 });
  });
});
