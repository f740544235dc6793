// Whole scenarios go another way, to the byte of their traces, where a machine lacks a part: one part of each machine.
import { describe, expect, it } from 'vitest';
import { allMutants, ScenarioTraces } from './traces.js';

/** What a day on a site hangs on. `npm run mutants` does it with every part. */
const PARTS = [
  'profile.scheduled: always → profile.active',
  'location: decision.due',
  'cluster.active: room.made',
  'connector.lock.unlocked: always → connector.lock.locked',
  'connector.link.stale: meter.heard → connector.link.online',
];

describe('The trace of a scenario', () => {
  const traces = new ScenarioTraces();

  it.each(PARTS)('is another without %s', async (name) => {
    const mutant = allMutants().find((each) => each.name === name);
    if (mutant === undefined) throw new Error(`no mutant is called ${name}`);
    expect(await traces.firstChangedBy(mutant)).toBeDefined();
  });

  it('is the same again once the part is back', async () => {
    const nothing = { name: 'nothing', machine: 'profile', plant: () => () => {} };
    expect(await traces.firstChangedBy(nothing, ['cluster-cap'])).toBeUndefined();
  });
});
