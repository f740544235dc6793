// An ACTIVE cluster shares its cap. An INACTIVE one limits no member.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createActor, type InspectionEvent, type SnapshotFrom } from 'xstate';
import {
  type ClusterEffect,
  type ClusterEvent,
  clusterMachine,
} from '../../machines/limits/cluster.machine.js';
import { grantShares, type ReservedPower, scaleOf } from '../../machines/limits/cluster-shares.js';
import type { GrantedShare } from '../../machines/limits/limit-in-force.js';
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
/** Reserved power of a member without chargers. No other member waits for it. */
const NOTHING: ReservedPower = { reservedW: 0, neededW: 0, lastingW: () => 0, isReleasing: false };
const listed = (members: Record<string, number>) =>
  Object.entries(members).map(([locationId, setLimitKw]) => ({ locationId, setLimitKw, reserved: NOTHING }));
const member = (locationId: string, setLimitKw: number, reserved: ReservedPower) => ({
  locationId,
  setLimitKw,
  reserved,
});
const ACTIVATED: ClusterEvent = { type: 'cluster.activated' };
const DEACTIVATED: ClusterEvent = { type: 'cluster.deactivated' };
const RESERVED_CHANGED: ClusterEvent = { type: 'reserved.changed' };

/** The state after `events` by section 2.8 of the contract. */
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
    // An INACTIVE cluster is configured anew before its activation, and asks its members for nothing until then.
    if (event.type === 'members.changed' && isActive)
      for (const { locationId, setLimitKw } of event.members)
        if (members.has(locationId)) members.set(locationId, setLimitKw);
  }
  return { capKw, isActive, sharesKw: sharesOf(capKw, isActive, members) };
}

/** A cluster after `events`, with the effects of each event on its members. */
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

/** The members' shares after all effects. No effect may repeat a share that its member already has. */
function toldBy(effects: readonly ClusterEffect[]): Map<string, number> {
  const sent = new Map<string, number>();
  for (const { locationId, share } of effects.flatMap(({ shares }) => shares)) {
    expect(sent.get(locationId)).not.toBe(share?.shareW);
    if (share === undefined) sent.delete(locationId);
    else sent.set(locationId, share.shareW);
  }
  return sent;
}

const wattsOf = (shares: ReadonlyMap<string, GrantedShare>) =>
  new Map([...shares].map(([member, { shareW }]) => [member, shareW]));
/** The most that members with these `powers` can use together under `shares`, W. */
const takenOf = (
  powers: readonly { readonly reservedW: number }[],
  shares: ReadonlyMap<string, GrantedShare>,
) =>
  powers.reduce(
    (sum, { reservedW }, i) => sum + Math.max(reservedW, shares.get(`${i}`)?.shareW ?? reservedW),
    0,
  );
const sumOf = (sharesW: ReadonlyMap<string, number>) => [...sharesW.values()].reduce((a, b) => a + b, 0);

/** Checks all invariants of a cluster after `events`. */
function holdsAfter(events: readonly ClusterEvent[], inspect?: (event: InspectionEvent) => void): void {
  const { value, context, effects } = run(events, inspect);
  const { capKw, isActive, sharesKw } = expectedAfter(events);
  expect(value).toBe(isActive ? 'active' : 'inactive');
  const sharesW = wattsOf(context.shares);
  expect([...sharesW.keys()].sort()).toEqual([...sharesKw.keys()].sort());
  // A share is granted in whole watts, and never exceeds the exact share.
  for (const [member, kw] of sharesKw) expect(sharesW.get(member)).toBe(wattsOfLimit(kw));
  expect(toldBy(effects.flat())).toEqual(sharesW);
  for (const each of effects) expect(each.length).toBeLessThanOrEqual(1);
  if (isActive && capKw !== null) expect(sumOf(sharesW)).toBeLessThanOrEqual(wattsOfLimit(capKw));
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
    RESERVED_CHANGED,
  ];
  const walks = everyWalk(clusterMachine, {
    input: {},
    events: EVENTS,
    serializeState: ({ value, context }: SnapshotFrom<typeof clusterMachine>) =>
      JSON.stringify([value, context.limitKw, [...context.members.values()], [...context.shares]]),
  });

  it('goes from INACTIVE to ACTIVE and back, and no other way', () => {
    const { states, changes } = edgesOf(walks);
    expect(states).toEqual(new Set(['inactive', 'active']));
    expect(changes.size).toBe(4);
  });

  it('shares by the contract after every event in every state, and takes every transition it has', () => {
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
      fc.constantFrom(ACTIVATED, DEACTIVATED, RESERVED_CHANGED),
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
    Object.fromEntries(
      [...run(events).context.shares].map(([member, { shareW }]) => [member, shareW / 1000]),
    );

  it("are each member's set limit scaled by min(1, cap / sum)", () => {
    expect(sharesAfter(...CAPPED)).toEqual({ a: 30, b: 18, c: 12 });
    expect(sharesAfter(configured(100, { a: 50, b: 30, c: 20 }), ACTIVATED)).toEqual({ a: 50, b: 30, c: 20 });
  });

  it('are released when it is set INACTIVE, and when its cap is removed', () => {
    const released = ['a', 'b', 'c'].map((locationId) => ({ locationId, share: undefined }));
    for (const release of [DEACTIVATED, configured(null, { a: 50, b: 30, c: 20 })]) {
      expect(run([...CAPPED, release]).effects.at(-1)).toEqual([
        { type: 'shares.changed', shares: released },
      ]);
    }
  });

  it('are released for the removed location, and grow for the others', () => {
    expect(run([...CAPPED, configured(60, { a: 50, b: 30 })]).effects.at(-1)).toEqual([
      {
        type: 'shares.changed',
        shares: [
          { locationId: 'a', share: { shareW: 37_500, roomW: 37_500, raisesToW: 37_500 } },
          { locationId: 'b', share: { shareW: 22_500, roomW: 22_500, raisesToW: 22_500 } },
          { locationId: 'c', share: undefined },
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

  it('are sent to no member again if nothing about them changed', () => {
    for (const again of [ACTIVATED, changed({ a: 50 }), configured(60, { a: 50, b: 30, c: 20 })]) {
      expect(run([...CAPPED, again]).effects.at(-1)).toEqual([]);
    }
  });

  it('rise only as far as the entitlements of other members leave capacity under the cap', () => {
    const crowded = { reservedW: 40_000, neededW: 0, lastingW: () => 40_000, isReleasing: false };
    const members = [member('a', 50, crowded), member('b', 50, NOTHING)];
    const after = run([{ type: 'cluster.configured', limitKw: 60, members }, ACTIVATED]);
    expect(Object.fromEntries(wattsOf(after.context.shares))).toEqual({ a: 30_000, b: 20_000 });
    crowded.reservedW = 30_000;
    expect(after.context.shares.get('b')?.shareW).toBe(20_000);
    const later = run([{ type: 'cluster.configured', limitKw: 60, members }, ACTIVATED, RESERVED_CHANGED]);
    expect(Object.fromEntries(wattsOf(later.context.shares))).toEqual({ a: 30_000, b: 30_000 });
  });

  it('leave a member its lowest possible power: the others get less, and it waits until they have followed', () => {
    const locked = { reservedW: 0, neededW: 4_140, lastingW: () => 0, isReleasing: false };
    const full = { reservedW: 37_200, neededW: 0, lastingW: () => 37_200, isReleasing: false };
    const members = [member('south', 5, locked), member('north', 50, full)];
    const events: ClusterEvent[] = [{ type: 'cluster.configured', limitKw: 41, members }, ACTIVATED];
    const { context } = run(events);
    // 5 of the 55 kW set by the members, scaled to 41 kW.
    const shareW = wattsOfLimit((5 * 41) / 55);
    expect(context.shares.get('north')?.shareW).toBe(41_000 - 4_140);
    expect(context.shares.get('south')).toEqual({
      shareW: Math.min(shareW, 41_000 - 37_200),
      roomW: 3_800,
      raisesToW: shareW,
    });
    full.reservedW = 36_860;
    expect(run([...events, RESERVED_CHANGED]).context.shares.get('south')).toEqual({
      shareW,
      roomW: 4_140,
      raisesToW: shareW,
    });
  });

  it('let each member have its lowest possible power if the sum exceeds the cap', () => {
    const locked = { reservedW: 4_140, neededW: 4_140, lastingW: () => 4_140, isReleasing: false };
    const members = [member('a', 10, locked), member('b', 10, locked)];
    const { context } = run([{ type: 'cluster.configured', limitKw: 8, members }, ACTIVATED]);
    for (const id of ['a', 'b'])
      expect(context.shares.get(id)).toMatchObject({ shareW: 4_000, roomW: Number.POSITIVE_INFINITY });
  });

  it('and it waits while another member gives up its share, or is still to receive it: that is no need', () => {
    const locked = { reservedW: 0, neededW: 4_140, lastingW: () => 0, isReleasing: false };
    const started = { reservedW: 22_080, neededW: 22_080, lastingW: () => 22_080, isReleasing: false };
    const falling = { reservedW: 16_000, neededW: 0, lastingW: () => 0, isReleasing: false };
    const members = [member('a', 10, locked), member('b', 30, started), member('c', 20, falling)];
    const next = (held: ReadonlyMap<string, GrantedShare>) =>
      grantShares(held, 24, scaleOf(24, members), members);
    const roomsW = (shares: ReadonlyMap<string, GrantedShare>) =>
      [...shares.values()].map(({ roomW }) => roomW);
    const sent = next(new Map([['c', { shareW: 16_000, roomW: 16_000, raisesToW: 16_000 }]]));
    expect(roomsW(sent)).toEqual([0, 12_000, 0]);
    falling.isReleasing = true;
    expect(roomsW(next(sent))).toEqual([0, 12_000, 0]);
    falling.isReleasing = false;
    expect(roomsW(next(sent)).slice(0, 2)).toEqual([Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]);
    // The member's own supervisor waits for falling entitlements inside that member.
    started.isReleasing = true;
    expect(roomsW(next(sent)).slice(0, 2)).toEqual([0, Number.POSITIVE_INFINITY]);
  });

  it('let nobody raise a limit while the chargers of another are entitled to more than its share, and keep the shares', () => {
    // One of north's chargers no longer keeps its lease, and the others are about to be lowered.
    const north = { reservedW: 44_160, neededW: 22_080, lastingW: () => 30_000, isReleasing: false };
    const south = { reservedW: 20_000, neededW: 0, lastingW: () => 20_000, isReleasing: false };
    const members = [member('north', 30, north), member('south', 30, south)];
    const events: ClusterEvent[] = [{ type: 'cluster.configured', limitKw: 60, members }, ACTIVATED];
    north.reservedW = 30_000;
    const first = run(events).context.shares;
    expect(first.get('south')).toEqual({ shareW: 30_000, roomW: 30_000, raisesToW: 30_000 });
    north.reservedW = 44_160;
    const lost = grantShares(first, 60, 1, members);
    expect(lost.get('south')).toEqual({ shareW: 30_000, roomW: 30_000, raisesToW: 60_000 - 44_160 });
    expect(lost.get('north')?.raisesToW).toBe(30_000);
  });

  it('keep the members within the cap at every step, and end with the need of each, whatever their chargers take', () => {
    const power = fc.integer({ min: 0, max: 50_000 });
    const drawn = fc.array(
      fc.record({ setLimitKw: limitKw, neededW: power, reservedW: power, heldW: fc.option(power) }),
      { minLength: 1, maxLength: 6 },
    );
    fc.assert(
      fc.property(drawn, fc.integer({ min: 1, max: 200 }), (each, capKw) => {
        const powers = each.map(({ neededW, reservedW }) => ({
          neededW,
          reservedW,
          lastingW: () => reservedW,
          isReleasing: false,
        }));
        const members = each.map(({ setLimitKw }, i) => member(`${i}`, setLimitKw, powers[i] ?? NOTHING));
        const scale = scaleOf(capKw, members);
        let shares: ReadonlyMap<string, GrantedShare> = new Map(
          each.flatMap(({ heldW }, i) =>
            heldW === null ? [] : [[`${i}`, { shareW: heldW, roomW: heldW, raisesToW: heldW }]],
          ),
        );
        const needsW = each.reduce((sum, { neededW }) => sum + neededW, 0);
        // Chargers follow one after another, and each member takes free power at once, as far as it may.
        for (let step = 0; step < 4 * each.length; step++) {
          const before = takenOf(powers, shares);
          shares = grantShares(shares, capKw, scale, members);
          expect(takenOf(powers, shares)).toBeLessThanOrEqual(Math.max(before, 1000 * capKw));
          const follower = powers[step % each.length];
          const { shareW = 0, roomW = 0 } = shares.get(`${step % each.length}`) ?? {};
          if (follower === undefined) continue;
          const { neededW } = follower;
          const mayTakeW = neededW <= shareW ? shareW : neededW <= roomW ? neededW : shareW;
          follower.reservedW = Math.max(mayTakeW, Math.min(follower.reservedW, neededW));
          if (needsW > 1000 * capKw) continue;
          expect(takenOf(powers, shares)).toBeLessThanOrEqual(Math.max(before, 1000 * capKw));
        }
        shares = grantShares(shares, capKw, scale, members);
        if (needsW > 1000 * capKw) return;
        expect(takenOf(powers, shares)).toBeLessThanOrEqual(1000 * capKw);
        for (const [i, { neededW }] of each.entries())
          expect(shares.get(`${i}`)?.roomW).toBeGreaterThanOrEqual(neededW);
      }),
      { numRuns: 400 },
    );
  });
});
