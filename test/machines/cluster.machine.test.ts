// A cluster shares its cap while it is ACTIVE, and limits no member while it is not.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createActor, type InspectionEvent, type SnapshotFrom } from 'xstate';
import {
  type ClusterEffect,
  type ClusterEvent,
  clusterMachine,
} from '../../machines/limits/cluster.machine.js';
import type { ReservedPower } from '../../machines/limits/cluster-shares.js';
import { wattsOfLimit } from '../../machines/values/units.js';
import { limitKw } from './arbitraries.js';
import { edgesOf, everyWalk, watchTransitions } from './graph-walk.js';
import { sharesOf } from './oracle.js';

const configured = (capKw: number | null, members: Record<string, number>): ClusterEvent => ({
  type: 'cluster.configured',
  limitKw: capKw,
  members: listed(members),
});
const changed = (members: Record<string, number>): ClusterEvent => ({
  type: 'members.changed',
  members: listed(members),
});
/** A member without chargers: it takes nothing that others wait for. */
const NOTHING: ReservedPower = { totalW: 0, lastingW: () => 0 };
const listed = (members: Record<string, number>) =>
  Object.entries(members).map(([locationId, setLimitKw]) => ({ locationId, setLimitKw, reserved: NOTHING }));
const ACTIVATED: ClusterEvent = { type: 'cluster.activated' };
const DEACTIVATED: ClusterEvent = { type: 'cluster.deactivated' };
const ROOM_MADE: ClusterEvent = { type: 'room.made' };

/** What section 2.8 makes of `events`. */
function expectedAfter(events: readonly ClusterEvent[]) {
  let [capKw, isActive]: [number | null, boolean] = [null, false];
  let members = new Map<string, number>();
  for (const event of events) {
    if (event.type === 'cluster.activated') isActive = true;
    if (event.type === 'cluster.deactivated') isActive = false;
    if (event.type === 'cluster.configured') {
      capKw = event.limitKw;
      members = new Map(event.members.map(({ locationId, setLimitKw }) => [locationId, setLimitKw]));
    }
    // One that is INACTIVE is configured anew before it is activated, and asks for nothing until then.
    if (event.type === 'members.changed' && isActive)
      for (const { locationId, setLimitKw } of event.members)
        if (members.has(locationId)) members.set(locationId, setLimitKw);
  }
  return { capKw, isActive, sharesKw: sharesOf(capKw, isActive, members) };
}

/** A cluster after `events`, with what its members were told by each of them. */
function run(events: readonly ClusterEvent[], inspect: (event: InspectionEvent) => void = () => {}) {
  const actor = createActor(clusterMachine, { inspect });
  const effects: ClusterEffect[][] = [];
  actor.on('*', (effect) => effects.at(-1)?.push(effect));
  actor.start();
  for (const event of events) {
    effects.push([]);
    actor.send(event);
  }
  return { ...actor.getSnapshot(), effects };
}

/** What the members know once they have taken in every effect; nobody may be told what it knows already. */
function toldBy(effects: readonly ClusterEffect[]): Map<string, number> {
  const told = new Map<string, number>();
  for (const { locationId, shareKw } of effects.flatMap(({ shares }) => shares)) {
    expect(told.get(locationId)).not.toBe(shareKw);
    if (shareKw === undefined) told.delete(locationId);
    else told.set(locationId, shareKw);
  }
  return told;
}

const sumOf = (sharesW: ReadonlyMap<string, number>) => [...sharesW.values()].reduce((a, b) => a + b, 0);

/** Everything that must hold of a cluster after `events`. */
function holdsAfter(events: readonly ClusterEvent[], inspect?: (event: InspectionEvent) => void): void {
  const { value, context, effects } = run(events, inspect);
  const { capKw, isActive, sharesKw } = expectedAfter(events);
  expect(value).toBe(isActive ? 'active' : 'inactive');
  expect([...context.sharesW.keys()].sort()).toEqual([...sharesKw.keys()].sort());
  // A share is granted in whole watts, and never more than is due.
  for (const [member, kw] of sharesKw) expect(context.sharesW.get(member)).toBe(wattsOfLimit(kw));
  expect(toldBy(effects.flat())).toEqual(
    new Map([...context.sharesW].map(([member, shareW]) => [member, shareW / 1000])),
  );
  for (const each of effects) expect(each.length).toBeLessThanOrEqual(1);
  if (isActive && capKw !== null) expect(sumOf(context.sharesW)).toBeLessThanOrEqual(capKw * 1000);
}

describe('A cluster (sections 2.8 and 3.2)', () => {
  const EVENTS = [
    configured(null, { a: 50, b: 30 }),
    configured(60, { a: 50, b: 30 }),
    configured(60, { b: 30, c: 20 }),
    configured(200, { a: 50, b: 30 }),
    changed({ a: 100, b: 10 }),
    changed({ z: 5 }),
    ACTIVATED,
    DEACTIVATED,
    ROOM_MADE,
  ];
  const walks = everyWalk(clusterMachine, {
    input: {},
    events: EVENTS,
    serializeState: ({ value, context }: SnapshotFrom<typeof clusterMachine>) =>
      JSON.stringify([value, context.limitKw, [...context.members.values()], [...context.sharesW]]),
  });

  it('goes from INACTIVE to ACTIVE and back, and no other way', () => {
    const { states, changes } = edgesOf(walks);
    expect(states).toEqual(new Set(['inactive', 'active']));
    expect(changes.size).toBe(4);
  });

  it('shares as the contract says after every event in every state, and takes every transition it has', () => {
    const watch = watchTransitions(clusterMachine);
    for (const { events } of walks) holdsAfter(events, watch.inspect);
    expect(watch.untaken()).toEqual([]);
    expect(watch.count).toBe(6);
  });

  it('keeps the shares within the cap after any sequence of changes, late messages of non-members among them', () => {
    const id = fc.constantFrom('a', 'b', 'c', 'd', 'e');
    const members = fc.dictionary(id, limitKw, { maxKeys: 5, noNullPrototype: true });
    const event = fc.oneof(
      fc.tuple(fc.option(limitKw), members).map(([capKw, each]) => configured(capKw, each)),
      members.map(changed),
      fc.constantFrom(ACTIVATED, DEACTIVATED, ROOM_MADE),
    );
    fc.assert(
      fc.property(fc.array(event, { maxLength: 15 }), (events) => {
        holdsAfter(events);
      }),
      { numRuns: 400 },
    );
  });
});

describe("A cluster's shares (section 2.8)", () => {
  const CAPPED = [configured(60, { a: 50, b: 30, c: 20 }), ACTIVATED];
  const sharesAfter = (...events: ClusterEvent[]) =>
    Object.fromEntries([...run(events).context.sharesW].map(([member, shareW]) => [member, shareW / 1000]));

  it("are each member's set limit scaled by min(1, cap / sum)", () => {
    expect(sharesAfter(...CAPPED)).toEqual({ a: 30, b: 18, c: 12 });
    expect(sharesAfter(configured(100, { a: 50, b: 30, c: 20 }), ACTIVATED)).toEqual({ a: 50, b: 30, c: 20 });
  });

  it('are released when it is set INACTIVE, and when its cap is removed', () => {
    const released = ['a', 'b', 'c'].map((locationId) => ({ locationId, shareKw: undefined }));
    for (const release of [DEACTIVATED, configured(null, { a: 50, b: 30, c: 20 })]) {
      expect(run([...CAPPED, release]).effects.at(-1)).toEqual([
        { type: 'shares.changed', shares: released },
      ]);
    }
  });

  it('are released for the location that is removed, and grow for those that stay', () => {
    expect(run([...CAPPED, configured(60, { a: 50, b: 30 })]).effects.at(-1)).toEqual([
      {
        type: 'shares.changed',
        shares: [
          { locationId: 'a', shareKw: 37.5 },
          { locationId: 'b', shareKw: 22.5 },
          { locationId: 'c', shareKw: undefined },
        ],
      },
    ]);
  });

  it('follow a member that changed while it was INACTIVE', () => {
    expect(sharesAfter(...CAPPED, DEACTIVATED, configured(60, { a: 10, b: 30, c: 20 }), ACTIVATED)).toEqual({
      a: 10,
      b: 30,
      c: 20,
    });
  });

  it('are told to nobody again when nothing about them changed', () => {
    for (const again of [ACTIVATED, changed({ a: 50 }), configured(60, { a: 50, b: 30, c: 20 })]) {
      expect(run([...CAPPED, again]).effects.at(-1)).toEqual([]);
    }
  });

  it('rise only as far as what the chargers of other members may still draw leaves room under the cap', () => {
    const crowded = { totalW: 40_000, lastingW: () => 40_000 };
    const member = (locationId: string, setLimitKw: number, reserved: ReservedPower) => ({
      locationId,
      setLimitKw,
      reserved,
    });
    const members = [member('a', 50, crowded), member('b', 50, { totalW: 0, lastingW: () => 0 })];
    const after = run([{ type: 'cluster.configured', limitKw: 60, members }, ACTIVATED]);
    expect(Object.fromEntries(after.context.sharesW)).toEqual({ a: 30_000, b: 20_000 });
    crowded.totalW = 30_000;
    expect(after.context.sharesW.get('b')).toBe(20_000);
    const later = run([{ type: 'cluster.configured', limitKw: 60, members }, ACTIVATED, ROOM_MADE]);
    expect(Object.fromEntries(later.context.sharesW)).toEqual({ a: 30_000, b: 30_000 });
  });
});
