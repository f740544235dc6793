// One missing part of each machine changes limits, power or alarms in a whole scenario.
import { describe, expect, it } from 'vitest';
import { type Cases, played, testCases } from '../seeds.js';
import { allMutants, ScenarioTraces } from './traces.js';

/** One part of each machine, and a short scenario that shows it. `npm run mutants` does the same with every part. */
const PARTS: Cases<{ readonly scenario: string; readonly part: string }> = {
  always: [
    { scenario: 'lock-on-a-full-site', part: 'profile.active: always → profile.expired' },
    {
      scenario: 'lock-on-a-full-site',
      part: 'connector.lock.locked: always → connector.lock.unlocked, without reportUnlocked',
    },
    { scenario: 'lock-on-a-full-site', part: 'location: connector.locked' },
    { scenario: 'cluster-cap', part: 'cluster.active: reserved.changed' },
  ],
  more: [
    { scenario: 'lock-on-a-full-site', part: 'profile.scheduled: always → profile.active' },
    { scenario: 'limit-taken-back', part: 'connector: profile.submitted, without followLock' },
    { scenario: 'limit-taken-back', part: 'connector: profile.cancelled' },
    {
      scenario: 'lock-on-a-full-site',
      part: 'connector.lock.unlocked: always → connector.lock.locked, without reportLocked',
    },
    { scenario: 'lock-on-a-full-site', part: 'connector.link.stale: meter.received → connector.link.online' },
    {
      scenario: 'cluster-switched-off',
      part: 'connector.throttle.idle: charging.allowed → connector.throttle.charging, without beginTurn',
    },
    { scenario: 'limit-taken-back', part: 'location: profile.cancelled, without releaseCancelled' },
    { scenario: 'cluster-cap', part: 'location: decision.due' },
    { scenario: 'cluster-switched-off', part: 'cluster.active: cluster.deactivated → cluster.inactive' },
    { scenario: 'operator-signals', part: 'lpc.limited: always 2 → lpc.failsafe' },
  ],
};

describe('The trace of a scenario', () => {
  const traces = new ScenarioTraces();

  testCases(PARTS, 'differs without $part, in $scenario', async ({ scenario, part }) => {
    const mutant = allMutants().find((each) => each.name === part);
    if (mutant === undefined) throw new Error(`no mutant is called ${part}`);
    expect(await traces.firstChangedBy(mutant, [scenario])).toBeDefined();
  });

  it('is the same without a mutant', async () => {
    const scenarios = new Set(played(PARTS).map(({ scenario }) => scenario));
    const nothing = { name: 'nothing', machine: 'profile', plant: () => () => {} };
    expect(await traces.firstChangedBy(nothing, [...scenarios])).toBeUndefined();
  });
});
