// The course of events of recorded worlds. `npm run baseline` records every world anew.
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { type BaselineRecord, baselineWorlds, recordWorld } from '../../tools/bench/baseline-worlds.js';
import { onlyInCi } from '../seeds.js';

const records = JSON.parse(readFileSync('test/baseline.json', 'utf8')) as Readonly<
  Record<string, BaselineRecord>
>;
const names = Object.keys(records);
const worlds = new Map(baselineWorlds().map((world) => [world.name, world]));
/** A run plays one world of so many: a few scenarios of each transport, and hostile hours. */
const EVERY = 40;

it('has a record of each world, and of no other', () => {
  expect([...names].sort()).toEqual([...worlds.keys()].sort());
});

it('has no violation in any record', () => {
  const violating = names.filter((name) => (records[name]?.figures.violations ?? 0) > 0);
  expect(violating).toEqual([]);
});

it.each(names.filter((name, nth) => nth % EVERY === 1 && worlds.get(name)?.isRepeatable))(
  'plays %s as recorded',
  onlyInCi(),
  async (name) => {
    const world = worlds.get(name);
    expect(world && (await recordWorld(world))).toEqual(records[name]);
  },
);
