// The membership of several nodes on one real database. Each shard goes to one node, and shards move one at a time.
import { setMaxListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ALL_SHARDS, type Shard } from '../../machines/values/shards.js';
import { systemClock } from '../../src/clock.js';
import { createMetrics } from '../../src/metrics.js';
import { ShardMembership } from '../../src/nodes/shard-membership.js';
import { asOneShard, openSharedDatabase } from '../../src/outbound/knex/shared-database.js';
import { createStore } from '../../src/outbound/knex/store.js';
import type { Clock } from '../../src/ports/clock.js';
import { NotVacantError } from '../../src/ports/ownership.js';
import type { Membership, SharedDatabase } from '../../src/ports/shared-database.js';
import { StoreUnavailableError } from '../../src/ports/store.js';
import { temporaryDirectory } from '../cli/headroom.js';
import { eventually } from '../eventually.js';
import { silentLog } from '../service/running-service.js';

/** Longer than any test, because no node renews its shards here. */
const LEASE_MS = 300_000;
const SHORT_LEASE_MS = 2_000;

interface Node {
  readonly name: string;
  readonly database: SharedDatabase;
  readonly roster: ShardMembership;
  /**
   * `vacant`: vacant shards that the membership assigned to this node, each begun at once. `moving`: its own shards
   * that are to move.
   */
  readonly vacant: Set<Shard>;
  readonly moving: Shard[];
  readonly leaving: AbortController;
}

describe('the memberships of several nodes', () => {
  let databaseUrl: string;
  const nodes: Node[] = [];

  beforeEach(() => {
    databaseUrl = `sqlite:${temporaryDirectory()}/headroom.sqlite`;
  });
  afterEach(async () => {
    for (const { roster, database, leaving } of nodes.splice(0)) {
      leaving.abort();
      await roster.close();
      await database.close();
    }
  });

  async function start(
    name: string,
    options: {
      readonly clock?: Clock;
      readonly wrap?: (membership: Membership) => Membership;
      readonly leaseMs?: number;
    } = {},
  ): Promise<Node> {
    const { clock = systemClock, leaseMs = LEASE_MS, wrap = (membership) => membership } = options;
    const database = await openSharedDatabase({
      databaseUrl,
      clock,
      databaseClock: systemClock,
      log: silentLog,
      metrics: createMetrics(),
      node: { nodeId: name, url: () => `http://${name}`, leaseMs },
    });
    const membership = wrap(database.membership);
    const { shards } = database;
    const roster = new ShardMembership({ clock, log: silentLog, membership, shards, nodeId: name, leaseMs });
    const leaving = new AbortController();
    // Each shard of a node adds a listener to the signal.
    setMaxListeners(0, leaving.signal);
    const node = { name, database, roster, vacant: new Set<Shard>(), moving: [], leaving };
    nodes.push(node);
    askAnew(node);
    await roster.start();
    return node;
  }

  /** Clears `vacant` and collects the assignments of the next look and later ones. */
  function askAnew({ roster, vacant, leaving }: Node): void {
    vacant.clear();
    for (const shard of ALL_SHARDS)
      roster.awaitVacancy(shard, leaving.signal).then(
        () => {
          vacant.add(shard);
          roster.began(shard);
        },
        () => {},
      );
  }

  /** Claims the shard and announces it as running. */
  async function own({ database }: Node, shard: Shard): Promise<void> {
    const { ownership } = database.shard(shard);
    await ownership.claim();
    await ownership.announce();
  }

  it('give each shard to one node, and equally many to each', async () => {
    const [first, second] = [await start('first'), await start('second')];
    // A node that was alone had all shards assigned.
    for (const each of [first, second]) askAnew(each);
    await eventually(() => expect(first.vacant.size + second.vacant.size).toBe(ALL_SHARDS.length));
    expect([...first.vacant, ...second.vacant].sort((a, b) => a - b)).toEqual(ALL_SHARDS);
    expect(first.vacant.size).toBe(ALL_SHARDS.length / 2);
  });

  it('show the owner of a shard, and no longer treat it as vacant', async () => {
    const first = await start('first');
    await own(first, 3);
    await eventually(() =>
      expect(first.roster.holderOf(3)).toMatchObject({ nodeId: 'first', url: 'http://first' }),
    );
    expect(first.roster.holderOf(4)).toBeUndefined();
    const second = await start('second');
    await eventually(() => expect(second.vacant.size).toBeGreaterThan(0));
    expect(second.vacant).not.toContain(3);
  });

  it('move half of the shards from a node that owns all, one after another', async () => {
    const first = await start('first');
    for (const shard of ALL_SHARDS) await own(first, shard);
    const { roster, leaving, moving } = first;
    for (const shard of ALL_SHARDS)
      roster.awaitMove(shard, leaving.signal).then(
        () => moving.push(shard),
        () => {},
      );
    const second = await start('second');
    for (let handedOver = 0; handedOver < ALL_SHARDS.length / 2; handedOver++) {
      await eventually(() => expect(moving).toHaveLength(handedOver + 1));
      const shard = moving.at(-1) ?? 0;
      await first.database.shard(shard).ownership.release();
      await eventually(() => expect(second.vacant).toContain(shard));
      await own(second, shard);
    }
    const held = ALL_SHARDS.filter((shard) => second.vacant.has(shard));
    await eventually(() =>
      expect(ALL_SHARDS.filter((shard) => first.roster.holderOf(shard)?.nodeId === 'second')).toEqual(held),
    );
    // Both nodes have the same number, so nothing moves any more.
    expect(moving).toHaveLength(ALL_SHARDS.length / 2);
  });

  it('give no more shards to a leaving node, and its shards to the others', async () => {
    const [first, second] = [await start('first'), await start('second')];
    await first.roster.leave();
    for (const each of [first, second]) askAnew(each);
    await eventually(() => expect(second.vacant.size).toBe(ALL_SHARDS.length));
    expect(first.vacant.size).toBe(0);
  });

  it('move no shard to a node that has yet to claim the previous one', async () => {
    const [first, second] = [await start('first'), await start('second')];
    // All shards are owned, and some are due to a third node.
    for (const shard of ALL_SHARDS) await own(shard % 2 === 0 ? first : second, shard);
    await start('third');
    for (const { roster, moving, leaving } of [first, second])
      for (const shard of ALL_SHARDS)
        roster.awaitMove(shard, leaving.signal).then(
          () => moving.push(shard),
          () => {},
        );
    await eventually(() => expect(first.moving.length + second.moving.length).toBeGreaterThan(0));
    const looks = 4 * 250;
    for (const node of [first, second])
      for (const shard of node.moving) await node.database.shard(shard).ownership.release();
    const told = first.moving.length + second.moving.length;
    // The third node claims nothing, so all other shards stay with their owners for any length of time.
    await new Promise<void>((resolve) => void systemClock.after(looks, resolve));
    expect(first.moving.length + second.moving.length).toBe(told);
    expect(told).toBe(1);
  });

  it('move all shards of a leaving node to the others before it has to release them', async () => {
    const [first, second] = [await start('first'), await start('second')];
    for (const shard of [1, 2, 3, 4, 5]) await own(first, shard);
    for (const shard of ALL_SHARDS) if (shard === 0 || shard > 5) await own(second, shard);
    const { roster, database, leaving } = first;
    const order: string[] = [];
    // The second node was alone with the first a moment ago. All shards vacant at that time were assigned to it.
    askAnew(second);
    const moving = [1, 2, 3, 4, 5].map(async (shard) => {
      await roster.awaitMove(shard, leaving.signal);
      order.push(`released ${shard}`);
      await database.shard(shard).ownership.release();
      await eventually(() => expect(second.vacant).toContain(shard));
      await own(second, shard);
      order.push(`claimed ${shard}`);
    });
    await roster.leave();
    const moved = roster.moved(leaving.signal);
    await Promise.all([moved, ...moving]);
    // The third shard is released only after one of the first two was claimed.
    const releases = order.flatMap((step, place) => (step.startsWith('released') ? [place] : []));
    expect(releases).toHaveLength(5);
    expect(releases[2]).toBeGreaterThan(order.findIndex((step) => step.startsWith('claimed')));
  });

  it('give a shard that one node cannot begin to another node', async () => {
    const [first, second] = [await start('first'), await start('second')];
    const { roster, leaving, vacant } = first;
    await eventually(() => expect(vacant.size).toBeGreaterThan(0));
    const [shard = 0] = vacant;
    second.vacant.delete(shard);
    askAnew(second);
    expect([roster.couldNotBegin(shard), roster.couldNotBegin(shard)]).toEqual([false, false]);
    expect(roster.couldNotBegin(shard)).toBe(true);
    await eventually(() => expect(second.vacant).toContain(shard));
    // The shard stays with the other node as long as that node lives.
    let isToldAgain = false;
    roster.awaitVacancy(shard, leaving.signal).then(
      () => {
        isToldAgain = true;
      },
      () => {},
    );
    await own(second, shard);
    await second.database.shard(shard).ownership.release();
    await new Promise<void>((resolve) => void systemClock.after(1_000, resolve));
    expect(isToldAgain).toBe(false);
  });

  it('give no shard to a node whose clock is off, until the clock is right', async () => {
    let offMs = 5_000;
    const clock: Clock = { ...systemClock, nowMs: () => systemClock.nowMs() + offMs };
    const off = await start('off', { clock });
    expect(off.roster.isClockOff).toBe(true);
    expect(off.vacant.size).toBe(0);
    offMs = 0;
    await eventually(() => expect(off.vacant.size).toBe(ALL_SHARDS.length));
    expect(off.roster.isClockOff).toBe(false);
  });

  it('give no shard for a while to a reconnected node that finds itself alone: others may return', async () => {
    let isCutOff = true;
    const away = () => Promise.reject(new StoreUnavailableError('cut off'));
    const wrap = (membership: Membership): Membership => ({
      ...membership,
      join: (declined) => (isCutOff ? away() : membership.join(declined)),
      renew: (declined) => (isCutOff ? away() : membership.renew(declined)),
      leave: () => membership.leave(),
      view: () => (isCutOff ? away() : membership.view()),
    });
    const alone = await start('alone', { wrap, leaseMs: SHORT_LEASE_MS });
    expect(alone.vacant.size).toBe(0);
    isCutOff = false;
    const backAtMs = systemClock.monotonicMs();
    await eventually(() => expect(alone.vacant.size).toBe(ALL_SHARDS.length));
    expect(systemClock.monotonicMs() - backAtMs).toBeGreaterThanOrEqual(SHORT_LEASE_MS / 4);
  });

  it('reject with the reason of an aborted wait', async () => {
    const { roster } = await start('first');
    const waiting = new AbortController();
    const told = roster.awaitMove(1, waiting.signal);
    waiting.abort(new Error('it stops'));
    await expect(told).rejects.toThrow('it stops');
    await expect(roster.awaitVacancy(1, waiting.signal)).rejects.toThrow('it stops');
  });
});

describe('the membership of a database with one shard', () => {
  const open: { close(): Promise<void> }[] = [];
  afterEach(async () => {
    for (const each of open.splice(0).reverse()) await each.close();
  });

  async function start(databaseUrl: string, nodeId: string) {
    const url = () => `http://${nodeId}`;
    const parts = { clock: systemClock, log: silentLog, metrics: createMetrics() };
    const node = { nodeId, url, leaseMs: SHORT_LEASE_MS };
    const database = asOneShard(await createStore({ databaseUrl, ...parts, node }), nodeId);
    open.push(database);
    const { membership, shards } = database;
    const roster = new ShardMembership({ ...parts, membership, shards, nodeId, leaseMs: SHORT_LEASE_MS });
    open.push(roster);
    await roster.start();
    const mayClaim = () => roster.awaitVacancy(0, new AbortController().signal);
    return { roster, mayClaim, ownership: database.shard(0).ownership };
  }

  it('lets each node claim a vacant shard, shows the owner to all, and waits for the end of its lease', async () => {
    const databaseUrl = `sqlite:${temporaryDirectory()}/headroom.sqlite`;
    const [first, second] = [await start(databaseUrl, 'first'), await start(databaseUrl, 'second')];
    await Promise.all([first.mayClaim(), second.mayClaim()]);
    await first.ownership.claim();
    await expect(second.ownership.claim()).rejects.toBeInstanceOf(NotVacantError);
    for (const { roster } of [first, second])
      await eventually(() => expect(roster.holderOf(0)).toEqual({ nodeId: 'first', url: 'http://first' }));
    // Nobody renews the lease, or moves the shard.
    await second.mayClaim();
    expect(second.roster.holderOf(0)).toBeUndefined();
    await second.ownership.claim();
    expect(await first.ownership.renew()).toBe(false);
  });
});
