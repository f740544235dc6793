// Guarantees of the ownership of a database, or of a shard of it, on every engine.
import { afterEach, describe, expect, it } from 'vitest';
import { ALL_SHARDS, shardOf } from '../../../machines/values/shards.js';
import { systemClock } from '../../../src/clock.js';
import { createMetrics } from '../../../src/metrics.js';
import { openSharedDatabase } from '../../../src/outbound/knex/shared-database.js';
import { createStore } from '../../../src/outbound/knex/store.js';
import type { Clock } from '../../../src/ports/clock.js';
import { ClockDifferenceError, NotVacantError } from '../../../src/ports/ownership.js';
import type { SharedDatabase } from '../../../src/ports/shared-database.js';
import { type Store, StoreUnavailableError } from '../../../src/ports/store.js';
import { eventually } from '../../eventually.js';
import type { DatabaseServer } from './database-server.js';
import { HARBOUR, HARBOUR_TENANT, provisionAll, QUAY, silentLog } from './harbour.js';

/** Long enough not to end during a test. */
const LONG_MS = 600_000;
/** Short enough to wait for, and long enough not to end between two statements on a busy machine. */
const SHORT_MS = 2_000;

const OURS = shardOf(HARBOUR);
const ANOTHER = ALL_SHARDS.find((shard) => shard !== OURS) ?? 0;

/** Nodes on databases, closed after each test. */
function nodesOf() {
  const open: { close(): Promise<void> }[] = [];
  afterEach(async () => {
    for (const store of open.splice(0)) await store.close();
  });
  const optionsOf = (databaseUrl: string, clock: Clock) => ({
    databaseUrl,
    clock,
    log: silentLog,
    metrics: createMetrics(),
  });
  const url = (nodeId: string) => () => `http://${nodeId}.example`;
  return {
    async whole(
      databaseUrl: string,
      nodeId: string,
      leaseMs: number | 'none' = LONG_MS,
      clock: Clock = systemClock,
    ): Promise<Store> {
      const store = await createStore({
        ...optionsOf(databaseUrl, clock),
        node: { nodeId, url: url(nodeId), leaseMs: leaseMs === 'none' ? undefined : leaseMs },
      });
      open.push(store);
      return store;
    },
    async shared(
      databaseUrl: string,
      nodeId: string,
      leaseMs = LONG_MS,
      clock: Clock = systemClock,
    ): Promise<SharedDatabase> {
      const node = { nodeId, url: url(nodeId), leaseMs };
      const database = await openSharedDatabase({ ...optionsOf(databaseUrl, clock), node });
      open.push(database);
      return database;
    },
  };
}

function write(store: Store, limitKw: number): Promise<void> {
  return store.append(HARBOUR, [{ kind: 'permanentLimit.set', locationId: QUAY, limitKw, atMs: 1 }]);
}

/** The new owner may have ended the sessions of this store. */
function expectLost({ ownership }: Store): Promise<void> {
  return eventually(async () => expect(await ownership.renew()).toBe(false));
}

function isVacantFor({ ownership }: Store): Promise<void> {
  return eventually(async () => expect(await ownership.holder()).toBeUndefined());
}

/** @param hasOwnClock the server has a clock and sessions of its own; SQLite has neither */
export function describeOwnership(serverOf: () => DatabaseServer, hasOwnClock: boolean): void {
  describe('of the whole database', () => {
    const nodes = nodesOf();
    describeOwned(serverOf, hasOwnClock, nodes.whole);
    describeWithoutLease(serverOf, hasOwnClock, nodes.whole);
  });
  describe('of a shard', () => {
    const nodes = nodesOf();
    describeOwned(serverOf, hasOwnClock, async (...opened) => (await nodes.shared(...opened)).shard(OURS));
  });
  describe('of several shards', () => describeShards(serverOf, hasOwnClock, nodesOf()));
}

type OpenNode = (databaseUrl: string, nodeId: string, leaseMs?: number, clock?: Clock) => Promise<Store>;

function describeOwned(serverOf: () => DatabaseServer, hasOwnClock: boolean, node: OpenNode): void {
  async function twoNodes(leaseMs?: number) {
    const databaseUrl = await serverOf().createDatabase();
    await provisionAll(databaseUrl, [HARBOUR_TENANT]);
    return [
      await node(databaseUrl, 'a', leaseMs),
      await node(databaseUrl, 'b', leaseMs),
      databaseUrl,
    ] as const;
  }

  it('is free at first, then belongs to the claiming node, and shows its address', async () => {
    const [a, b] = await twoNodes();
    expect(await b.ownership.holder()).toBeUndefined();
    await a.ownership.claim();
    expect(await b.ownership.holder()).toMatchObject({ nodeId: 'a' });
    await a.ownership.announce();
    expect(await b.ownership.holder()).toEqual({ nodeId: 'a', url: 'http://a.example' });
    await expect(b.ownership.claim()).rejects.toBeInstanceOf(NotVacantError);
  });

  it('goes to one of several nodes that claim it at once, under a higher term', async () => {
    const [a, b, databaseUrl] = await twoNodes();
    const first = await a.ownership.claim();
    await a.ownership.release();
    const nodes = [a, b, await node(databaseUrl, 'c')];
    const claims = await Promise.allSettled(nodes.map(({ ownership }) => ownership.claim()));
    const terms = claims.flatMap((claim) => (claim.status === 'fulfilled' ? [claim.value] : []));
    expect(terms).toHaveLength(1);
    // A node that lost the race for a shard may have taken a term before the winner.
    expect(terms[0]).toBeGreaterThan(first);
  });

  it('ends with the lease of a node that does not renew, and not before', async () => {
    const [a, b] = await twoNodes(SHORT_MS);
    await a.ownership.claim();
    for (let renewals = 0; renewals < 5; renewals++) {
      expect(await a.ownership.renew()).toBe(true);
      await expect(b.ownership.claim()).rejects.toBeInstanceOf(NotVacantError);
    }
    await isVacantFor(b);
    await b.ownership.claim();
    await expectLost(a);
    expect(await b.ownership.renew()).toBe(true);
  });

  it('stays with a node that renews late if no other node has claimed it', async () => {
    const [a, b] = await twoNodes(SHORT_MS);
    await a.ownership.claim();
    await isVacantFor(b);
    expect(await a.ownership.renew()).toBe(true);
    await expect(b.ownership.claim()).rejects.toBeInstanceOf(NotVacantError);
  });

  it('refuses writes of a replaced owner, and accepts those of the new one', async () => {
    const [a, b] = await twoNodes();
    await a.ownership.claim();
    await write(a, 10);
    await a.ownership.release();
    await b.ownership.claim();
    await expect(write(a, 11)).rejects.toBeInstanceOf(StoreUnavailableError);
    await write(b, 12);
    expect(
      (await b.loadTenant(HARBOUR)).locations.find(({ locationId }) => locationId === QUAY),
    ).toMatchObject({
      permanentLimitKw: 12,
    });
  });

  it('is released by its owner only', async () => {
    const [a, b] = await twoNodes();
    await a.ownership.claim();
    await b.ownership.release();
    expect(await b.ownership.holder()).toMatchObject({ nodeId: 'a' });
    await a.ownership.release();
    expect(await b.ownership.holder()).toBeUndefined();
  });

  if (!hasOwnClock) return;

  it('is refused to a node whose clock is more than two seconds off', async () => {
    const databaseUrl = await serverOf().createDatabase();
    const clockOffBy = (offMs: number) => ({ ...systemClock, nowMs: () => systemClock.nowMs() + offMs });
    for (const offMs of [-2_600, 2_600]) {
      const off = await node(databaseUrl, `off-${offMs}`, LONG_MS, clockOffBy(offMs));
      await expect(off.ownership.claim()).rejects.toBeInstanceOf(ClockDifferenceError);
    }
    const near = await node(databaseUrl, 'near', LONG_MS, clockOffBy(1_000));
    await near.ownership.claim();
  });
}

function describeWithoutLease(
  serverOf: () => DatabaseServer,
  hasOwnClock: boolean,
  node: ReturnType<typeof nodesOf>['whole'],
): void {
  it('passes at once to a service without a lease, from any owner', async () => {
    const databaseUrl = await serverOf().createDatabase();
    const [older, newer] = [await node(databaseUrl, 'a'), await node(databaseUrl, 'b', 'none')];
    const term = await older.ownership.claim();
    expect(await newer.ownership.claim()).toBe(term + 1);
    await expectLost(older);
  });

  if (!hasOwnClock) return;

  it('stays with an owner without a lease while that owner is connected', async () => {
    const databaseUrl = await serverOf().createDatabase();
    const [owner, other] = [await node(databaseUrl, 'a', 'none'), await node(databaseUrl, 'b')];
    await owner.ownership.claim();
    await expect(other.ownership.claim()).rejects.toBeInstanceOf(NotVacantError);
    await owner.close();
    await eventually(() => other.ownership.claim());
  });
}

function describeShards(
  serverOf: () => DatabaseServer,
  hasOwnClock: boolean,
  { whole, shared }: ReturnType<typeof nodesOf>,
): void {
  async function twoNodes(leaseMs?: number) {
    const databaseUrl = await serverOf().createDatabase();
    await provisionAll(databaseUrl, [HARBOUR_TENANT]);
    return [
      await shared(databaseUrl, 'a', leaseMs),
      await shared(databaseUrl, 'b', leaseMs),
      databaseUrl,
    ] as const;
  }

  it('belongs to one node for each shard, with terms from one counter', async () => {
    const [a, b] = await twoNodes();
    const first = await a.shard(OURS).ownership.claim();
    expect(await b.shard(ANOTHER).ownership.claim()).toBe(first + 1);
    await a.shard(OURS).ownership.release();
    expect(await b.shard(OURS).ownership.claim()).toBe(first + 2);
    expect(await b.shard(ANOTHER).ownership.renew()).toBe(true);
  });

  it('fences each shard separately: the loss of one leaves the others', async () => {
    const [a, b] = await twoNodes();
    await a.shard(OURS).ownership.claim();
    await a.shard(ANOTHER).ownership.claim();
    await a.shard(ANOTHER).ownership.release();
    await b.shard(ANOTHER).ownership.claim();
    await write(a.shard(OURS), 10);
    await expectLost(a.shard(ANOTHER));
    expect(await a.shard(OURS).ownership.renew()).toBe(true);
    await expect(a.shard(ANOTHER).ping()).rejects.toBeInstanceOf(StoreUnavailableError);
    await a.shard(OURS).ping();
  });

  it('shows each shard its own tenants, and all nodes every credential', async () => {
    const [a] = await twoNodes();
    expect((await a.common.loadCredentials()).tenants).toHaveLength(1);
    const tenantsOf = async (shard: number) =>
      (await a.shard(shard).loadCredentials()).tenants.map(({ tenantUuid }) => tenantUuid);
    expect(await tenantsOf(OURS)).toEqual([HARBOUR]);
    expect(await tenantsOf(ANOTHER)).toEqual([]);
    expect((await a.shard(OURS).revisionSince(0)).tenants).toEqual([HARBOUR]);
    expect((await a.shard(ANOTHER).revisionSince(0)).tenants).toEqual([]);
  });

  it('shows the address of the owner of a shard once the shard runs there', async () => {
    const [a, b] = await twoNodes();
    const { ownership } = a.shard(OURS);
    await ownership.claim();
    await ownership.renew();
    const seen = async () => (await b.membership.view()).holders[OURS];
    expect(await seen()).toEqual({ nodeId: 'a', url: undefined });
    await ownership.announce();
    expect(await seen()).toEqual({ nodeId: 'a', url: 'http://a.example' });
    await ownership.release();
    await ownership.claim();
    expect(await seen()).toEqual({ nodeId: 'a', url: undefined });
  });

  it('lists members and owners until they leave or their leases end', async () => {
    const [a, b] = await twoNodes();
    await a.membership.join([]);
    await b.membership.join([OURS, ANOTHER]);
    await a.shard(OURS).ownership.claim();
    const ofA = { nodeId: 'a', url: 'http://a.example', declined: [] };
    const ofB = { nodeId: 'b', url: 'http://b.example', declined: [OURS, ANOTHER] };
    const { members, holders } = await b.membership.view();
    expect(members).toHaveLength(2);
    expect(members).toEqual(expect.arrayContaining([ofA, ofB]));
    expect(holders.map((holder) => holder?.nodeId)).toEqual(
      ALL_SHARDS.map((shard) => (shard === OURS ? 'a' : undefined)),
    );
    await a.membership.leave();
    await a.shard(OURS).ownership.release();
    await b.membership.renew([]);
    expect(await b.membership.view()).toEqual({
      members: [{ ...ofB, declined: [] }],
      holders: ALL_SHARDS.map(() => undefined),
    });
  });

  it('removes a member that does not renew', async () => {
    const [a, b] = await twoNodes(SHORT_MS);
    await a.membership.join([]);
    await b.membership.join([]);
    await eventually(async () => {
      await b.membership.renew([]);
      expect((await b.membership.view()).members.map(({ nodeId }) => nodeId)).toEqual(['b']);
    });
  });

  it('passes to a service without a lease, which alone may write from then on', async () => {
    const [a, , databaseUrl] = await twoNodes();
    const term = await a.shard(OURS).ownership.claim();
    const only = await whole(databaseUrl, 'only', 'none');
    expect(await only.ownership.claim()).toBe(term + 1);
    await expect(write(a.shard(OURS), 11)).rejects.toBeInstanceOf(StoreUnavailableError);
    await write(only, 12);
  });

  it('is refused while a standby node owns the database, and to a standby node while a shard is owned', async () => {
    const [a, , databaseUrl] = await twoNodes();
    const standby = await whole(databaseUrl, 'standby');
    const term = await standby.ownership.claim();
    await expect(a.shard(OURS).ownership.claim()).rejects.toBeInstanceOf(NotVacantError);
    await standby.ownership.release();
    expect(await a.shard(OURS).ownership.claim()).toBe(term + 1);
    await expect(write(standby, 11)).rejects.toBeInstanceOf(StoreUnavailableError);
    await expect(standby.ownership.claim()).rejects.toBeInstanceOf(NotVacantError);
    await a.shard(OURS).ownership.release();
    expect(await standby.ownership.claim()).toBe(term + 2);
  });

  if (!hasOwnClock) return;

  it('accepts no member whose clock is more than two seconds off', async () => {
    const databaseUrl = await serverOf().createDatabase();
    const clock = { ...systemClock, nowMs: () => systemClock.nowMs() + 2_600 };
    const off = await shared(databaseUrl, 'off', LONG_MS, clock);
    await expect(off.membership.join([])).rejects.toBeInstanceOf(ClockDifferenceError);
    expect((await off.membership.view()).members).toEqual([]);
  });
}
