// Alarms of silent or absent chargers: raised once, stored, still open after a restart, and ended when the charger is
// back.
import { afterEach, describe, expect, it } from 'vitest';
import { createEnforcementRig, type EnforcementRig } from './enforcement-rig.js';

let rig: EnforcementRig;
afterEach(() => rig.stop());

async function run(plan: { isLastAbsent?: boolean } = {}): Promise<void> {
  const chargers = [{}, {}, { isAbsent: plan.isLastAbsent === true }];
  rig = await createEnforcementRig([{ locationId: 'quay', permanentLimitKw: 60, chargers }]);
  await rig.pass(20);
}

/** `[kind, charger, whether it has ended]` of each alarm, oldest first. */
async function told() {
  const alarms = await rig.alarms('quay');
  return alarms.map(({ kind, controllerUuid, endedAt }) => [kind, controllerUuid, endedAt !== null]);
}

describe('a charger', () => {
  it('whose connection breaks is OFFLINE at once, and until it is back', async () => {
    await run();
    await rig.cut(rig.charger('quay-2'));
    await rig.pass(1);
    expect(await told()).toEqual([['OFFLINE', 'quay-2', false]]);
    await rig.pass(100);
    await rig.restore(rig.charger('quay-2'));
    await rig.pass(5);
    expect(await told()).toEqual([['OFFLINE', 'quay-2', true]]);
  });

  it('that falls silent is STALE after three heartbeats, and until it speaks', async () => {
    await run();
    const silent = rig.charger('quay-1');
    silent.setMute(true);
    await rig.pass(19);
    expect(await told()).toEqual([]);
    await rig.pass(13);
    expect(await told()).toEqual([['STALE', 'quay-1', false]]);
    await rig.pass(100);
    silent.setMute(false);
    await rig.pass(11);
    expect(await told()).toEqual([['STALE', 'quay-1', true]]);
  });

  it('that falls silent and then breaks its connection is OFFLINE, and no longer STALE', async () => {
    await run();
    const silent = rig.charger('quay-1');
    silent.setMute(true);
    await rig.pass(40);
    await rig.cut(silent);
    await rig.pass(1);
    expect(await told()).toEqual([
      ['STALE', 'quay-1', true],
      ['OFFLINE', 'quay-1', false],
    ]);
  });

  it('that never connected is OFFLINE three heartbeats after the start', async () => {
    await run({ isLastAbsent: true });
    expect(await told()).toEqual([]);
    await rig.pass(15);
    expect(await told()).toEqual([['OFFLINE', 'quay-3', false]]);
  });
});

describe('an alarm that is open when the service ends', () => {
  it('is open after it, is not raised twice, and ends when the charger is back', async () => {
    await run();
    const [offline, silent] = [rig.charger('quay-1'), rig.charger('quay-2')];
    await rig.cut(offline);
    silent.setMute(true);
    await rig.pass(40);
    const before = await rig.alarms('quay');
    expect(before).toHaveLength(2);
    await rig.restartService(5);
    await rig.pass(60);
    // The silent charger has not reported at all since this start of the service.
    expect(await rig.alarms('quay')).toEqual([
      before[0],
      expect.objectContaining({ kind: 'STALE', controllerUuid: 'quay-2', endedAt: expect.any(String) }),
      expect.objectContaining({ kind: 'OFFLINE', controllerUuid: 'quay-2', endedAt: null }),
    ]);
    await rig.restore(offline);
    silent.setMute(false);
    await rig.pass(15);
    expect((await told()).every(([, , isOver]) => isOver)).toBe(true);
  });

  it('is over once its reason is gone', async () => {
    await run();
    await rig.lock('quay-1', 20);
    await rig.lock('quay-2', 20);
    await rig.limitLocation('quay', 5, { lastsS: 60 });
    rig.limitOf('quay').becomes(2 * 6 * 0.69, 15);
    rig.limitOf('quay').becomes(60, 60);
    await rig.pass(30);
    expect(await told()).toEqual([['LIMIT_UNATTAINABLE', null, false]]);
    expect(await rig.counted('openAlarms', { kind: 'LIMIT_UNATTAINABLE' })).toBe(1);
    await rig.restartService(40);
    await rig.pass(5);
    expect(await told()).toEqual([['LIMIT_UNATTAINABLE', null, true]]);
    expect(await rig.counted('openAlarms', { kind: 'LIMIT_UNATTAINABLE' })).toBe(0);
  });
});
