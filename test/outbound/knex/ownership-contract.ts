// What the ownership of a database owes to nodes, whatever engine it is on.
import { afterEach, expect, it } from 'vitest';
import { systemClock } from '../../../src/clock.js';
import { createMetrics } from '../../../src/metrics.js';
import { createStore } from '../../../src/outbound/knex/store.js';
import type { Clock } from '../../../src/ports/clock.js';
import { ClockDifferenceError, NotVacantError } from '../../../src/ports/ownership.js';
import { type Store, StoreUnavailableError } from '../../../src/ports/store.js';
import { eventually } from '../../eventually.js';
import type { DatabaseServer } from './database-server.js';
import { HARBOUR, HARBOUR_TENANT, provisionAll, QUAY, silentLog } from './harbour.js';

/** Long enough that it does not end by itself while a test runs. */
const LONG_MS = 600_000;
const SHORT_MS = 300;

/** @param hasOwnClock the server has a clock and sessions of its own, as SQLite has not. */
export function describeOwnership(serverOf: () => DatabaseServer, hasOwnClock: boolean): void {
  const open: Store[] = [];
  afterEach(async () => {
    for (const store of open.splice(0)) await store.close();
  });

  async function node(
    databaseUrl: string,
    nodeId: string,
    leaseMs: number | 'none' = LONG_MS,
    clock: Clock = systemClock,
  ): Promise<Store> {
    const url = () => `http://${nodeId}.example`;
    const store = await createStore({
      ...{ databaseUrl, clock, log: silentLog, metrics: createMetrics() },
      node: { nodeId, url, leaseMs: leaseMs === 'none' ? undefined : leaseMs },
    });
    open.push(store);
    return store;
  }

  async function twoNodes(leaseMs?: number) {
    const databaseUrl = await serverOf().createDatabase();
    await provisionAll(databaseUrl, [HARBOUR_TENANT]);
    return [
      await node(databaseUrl, 'a', leaseMs),
      await node(databaseUrl, 'b', leaseMs),
      databaseUrl,
    ] as const;
  }

  function write(store: Store, limitKw: number): Promise<void> {
    return store.append(HARBOUR, [{ kind: 'permanentLimit.set', locationId: QUAY, limitKw, atMs: 1 }]);
  }

  /** Its sessions may have been ended by the one that claimed. */
  function expectLost({ ownership }: Store): Promise<void> {
    return eventually(async () => expect(await ownership.renew()).toBe(false));
  }

  it('is free at first, then of whoever claims it, and says where that one is', async () => {
    const [a, b] = await twoNodes();
    expect(await b.ownership.holder()).toBeUndefined();
    await a.ownership.awaitVacancy(new AbortController().signal);
    await a.ownership.claim();
    expect(await b.ownership.holder()).toEqual({ nodeId: 'a', url: 'http://a.example' });
    await expect(b.ownership.claim()).rejects.toBeInstanceOf(NotVacantError);
  });

  it('goes to one of all that claim it at once, under a higher term than any before', async () => {
    const [a, b, databaseUrl] = await twoNodes();
    const first = await a.ownership.claim();
    await a.ownership.release();
    const nodes = [a, b, await node(databaseUrl, 'c')];
    const claims = await Promise.allSettled(nodes.map(({ ownership }) => ownership.claim()));
    const terms = claims.flatMap((claim) => (claim.status === 'fulfilled' ? [claim.value] : []));
    expect(terms).toEqual([first + 1]);
  });

  it('ends with the lease of one that does not renew, and not before', async () => {
    const [a, b] = await twoNodes(SHORT_MS);
    await a.ownership.claim();
    for (let renewals = 0; renewals < 5; renewals++) {
      expect(await a.ownership.renew()).toBe(true);
      await expect(b.ownership.claim()).rejects.toBeInstanceOf(NotVacantError);
    }
    await b.ownership.awaitVacancy(new AbortController().signal);
    await b.ownership.claim();
    await expectLost(a);
    expect(await b.ownership.renew()).toBe(true);
  });

  it('lets one go on that was late where nobody claimed meanwhile', async () => {
    const [a, b] = await twoNodes(SHORT_MS);
    await a.ownership.claim();
    await b.ownership.awaitVacancy(new AbortController().signal);
    expect(await a.ownership.renew()).toBe(true);
    await expect(b.ownership.claim()).rejects.toBeInstanceOf(NotVacantError);
  });

  it('refuses what an owner writes that another replaced, and never what that one writes', async () => {
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

  it('is given up by its owner alone', async () => {
    const [a, b] = await twoNodes();
    await a.ownership.claim();
    await b.ownership.release();
    expect(await b.ownership.holder()).toMatchObject({ nodeId: 'a' });
    await a.ownership.release();
    expect(await b.ownership.holder()).toBeUndefined();
  });

  it('is waited for until the waiting is ended', async () => {
    const [a, b] = await twoNodes();
    await a.ownership.claim();
    const waiting = new AbortController();
    const waited = b.ownership.awaitVacancy(waiting.signal);
    waiting.abort(new Error('the node stops'));
    await expect(waited).rejects.toThrow('the node stops');
  });

  it('is taken without a lease whoever has it, as by a service that is the only one', async () => {
    const databaseUrl = await serverOf().createDatabase();
    const [older, newer] = [await node(databaseUrl, 'a'), await node(databaseUrl, 'b', 'none')];
    const term = await older.ownership.claim();
    expect(await newer.ownership.claim()).toBe(term + 1);
    await expectLost(older);
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

  it('is not left while its owner, which holds no lease, is connected', async () => {
    const databaseUrl = await serverOf().createDatabase();
    const [owner, other] = [await node(databaseUrl, 'a', 'none'), await node(databaseUrl, 'b')];
    await owner.ownership.claim();
    await expect(other.ownership.claim()).rejects.toBeInstanceOf(NotVacantError);
    await owner.close();
    await eventually(() => other.ownership.claim());
  });
}
