// Whole scenarios go another way, to the byte of their traces, where a machine lacks a part: one part of each machine.
import { describe, expect, it } from 'vitest';
import { allMutants, ScenarioTraces } from './traces.js';

/** Of each machine, and a scenario that is short and shows it. `npm run mutants` does it with every part. */
const PARTS = [
  ['profile.scheduled: always → profile.active', 'lock-on-a-full-site'],
  ['profile.active: always → profile.expired', 'lock-on-a-full-site'],
  ['connector: profile.submitted, without followLock', 'limit-taken-back'],
  ['connector: profile.cancelled', 'limit-taken-back'],
  ['connector.lock.unlocked: always → connector.lock.locked, without reportLocked', 'lock-on-a-full-site'],
  ['connector.lock.locked: always → connector.lock.unlocked, without reportUnlocked', 'lock-on-a-full-site'],
  ['connector.link.stale: meter.heard → connector.link.online', 'lock-on-a-full-site'],
  ['connector.throttle.minimum: the state', 'cluster-switched-off'],
  ['location: profile.cancelled, without releaseCancelled', 'limit-taken-back'],
  ['location: connector.locked', 'lock-on-a-full-site'],
  ['location: decision.due', 'cluster-cap'],
  ['cluster.active: reserved.changed', 'cluster-cap'],
  ['cluster.active: cluster.deactivated → cluster.inactive', 'cluster-switched-off'],
  ['organization: profile.cancelled', 'cluster-switched-off'],
  ['operator.limited: always 2 → operator.failsafe', 'operator-signals'],
] as const;
const SCENARIOS = [...new Set(PARTS.map(([, scenario]) => scenario))];

describe('The trace of a scenario', () => {
  const traces = new ScenarioTraces();

  it.each(PARTS)('is another without %s, as in %s', async (name, scenario) => {
    const mutant = allMutants().find((each) => each.name === name);
    if (mutant === undefined) throw new Error(`no mutant is called ${name}`);
    expect(await traces.firstChangedBy(mutant, [scenario])).toBeDefined();
  });

  it('is the same where nothing is missing', async () => {
    const nothing = { name: 'nothing', machine: 'profile', plant: () => () => {} };
    expect(await traces.firstChangedBy(nothing, SCENARIOS)).toBeUndefined();
  });
});
