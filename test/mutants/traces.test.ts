// Whole scenarios go another way, to the byte of their traces, where a machine lacks a part: one part of each machine.
import { describe, expect, it } from 'vitest';
import { allMutants, ScenarioTraces } from './traces.js';

/** Of each machine, what is seen in the scenarios that are played in no time. `npm run mutants` does it with every part. */
const PARTS = [
  'profile.scheduled: always → profile.active',
  'profile.active: always → profile.expired',
  'connector: profile.submitted, without followLock',
  'connector: profile.cancelled',
  'connector.lock.unlocked: always → connector.lock.locked, without reportLocked',
  'connector.lock.locked: always → connector.lock.unlocked, without reportUnlocked',
  'connector.link.stale: meter.heard → connector.link.online',
  'connector.throttle.minimum: the state',
  'location: profile.cancelled, without releaseCancelled',
  'location: connector.locked',
  'location: decision.due',
  'cluster.active: room.made',
  'cluster.active: cluster.deactivated → cluster.inactive',
  'organization: profile.cancelled',
  'operator.limited: always 2 → operator.failsafe',
];

describe('The trace of a scenario', () => {
  const traces = new ScenarioTraces();

  it.each(PARTS)('is another without %s', async (name) => {
    const mutant = allMutants().find((each) => each.name === name);
    if (mutant === undefined) throw new Error(`no mutant is called ${name}`);
    expect(await traces.firstChangedBy(mutant)).toBeDefined();
  });

  it('is the same where nothing is missing', async () => {
    const nothing = { name: 'nothing', machine: 'profile', plant: () => () => {} };
    expect(await traces.firstChangedBy(nothing, ['cluster-switched-off', 'grid-operator'])).toBeUndefined();
  });
});
