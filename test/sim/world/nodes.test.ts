// Several nodes of the production service in one world: one writes at a time under all faults, and power stays within
// limits.
import { afterAll, describe, expect, it } from 'vitest';
import { SHARDS } from '../../../machines/values/shards.js';
import { HUNGRY } from '../../../sim/charger/traffic.js';
import { WriterWatch } from '../../../sim/checks/writer-watch.js';
import { createTraceHash } from '../../../sim/log/event-codec.js';
import { runHostileHours } from '../../../sim/world/hostile-hours.js';
import { createWorld, type World } from '../../../sim/world/world.js';
import type { Violation } from '../../../sim/world/world-record.js';
import { provisioningSchema } from '../../../src/provisioning/provisioning-schema.js';
import { minutesOf, onlyInCi, testCases } from '../../seeds.js';

const MINUTE_MS = 60_000;
const NODE_FAULTS = [
  'nodeFrozen',
  'nodeCutFromDatabase',
  'nodeCutFromBroker',
  'nodeClockOff',
  'nodeCutFromNodes',
  'serviceCrash',
];

describe('Three nodes under all faults', () => {
  const struck = new Set<string>();
  afterAll(() => expect([...struck]).toEqual(expect.arrayContaining(NODE_FAULTS)));

  // The first seed meets every fault.
  testCases(
    { always: [7], more: [1] },
    'have one writer at a time (P19), hold every other invariant, and recover, seed %i',
    async (seed) => {
      const hours = await runHostileHours({ seed, chargers: 2, durationMs: 12 * MINUTE_MS, nodes: 3 });
      expect(hours.violations).toEqual([]);
      expect(hours.terms).toBeGreaterThan(1);
      for (const fault of hours.struck.keys()) struck.add(fault);
    },
  );

  it('repeat every event with the same seed (P15)', onlyInCi(), async () => {
    const hashOf = async (seed: number) => {
      const hash = createTraceHash();
      await runHostileHours({ seed, chargers: 2, durationMs: 5 * MINUTE_MS, nodes: 3, onEvent: hash.add });
      return hash.digest();
    };
    const first = await hashOf(3);
    expect(await hashOf(3)).toBe(first);
    expect(await hashOf(4)).not.toBe(first);
  });
});

describe('Three nodes that share the tenants, under all faults', () => {
  it('have one writer of each shard at a time (P19), hold every other invariant, and recover', async () => {
    const hours = await runHostileHours({
      seed: 2,
      chargers: 2,
      durationMs: minutesOf(6, 2) * MINUTE_MS,
      nodes: 3,
      isSharded: true,
    });
    expect(hours.violations).toEqual([]);
    // Each shard had an owner, and some had several.
    expect(hours.terms).toBeGreaterThan(SHARDS);
  });
});

describe('A node that is cut off from the other nodes', () => {
  const TENANTS = [0, 1, 2].map((i) => `0000000${i}-6d0f-4e0e-9f0a-5f6c3b1d2a10`);
  const PLACES = [0, 1, 2];
  const CUT_MS = 20_000;

  async function threeNodes(): Promise<World> {
    const tenants = TENANTS.map((tenantUuid, i) => ({
      tenantUuid,
      name: `Tenant ${i}`,
      features: ['energy-management'],
      locations: [{ locationId: `quay-${i}`, name: 'Quay', permanentLimitKw: 50 }],
    }));
    const parsed = provisioningSchema.parse({ tenants });
    return createWorld({
      ...parsed,
      seed: 1,
      startMs: 0,
      nodes: 3,
      isSharded: true,
      visitorsOf: () => HUNGRY,
    });
  }

  /** Statuses of three requests for each tenant, one by way of each node. */
  async function answers(world: World, limitKw: number): Promise<number[]> {
    const statuses: number[] = [];
    for (const [i, tenantUuid] of TENANTS.entries())
      for (const _ of PLACES)
        statuses.push(
          (await world.call('PUT', `/locations/quay-${i}/limit`, { limitKw }, tenantUuid)).status,
        );
    return statuses;
  }

  it('serves its own tenants, forwards nothing until reconnection, and loses and invents no answer', async () => {
    const world = await threeNodes();
    await world.advance(30_000);
    expect(await answers(world, 40)).toEqual(Array.from({ length: 9 }, () => 200));
    for (const place of PLACES) world.strikeNode('nodeCutFromNodes', place, CUT_MS, 1);
    // For each tenant only one of three ways leads to its owner.
    expect((await answers(world, 41)).filter((status) => status === 200)).toHaveLength(3);
    await world.advance(2 * CUT_MS);
    for (const place of PLACES) world.strikeNode('nodeCutFromNodes', place, CUT_MS, -1);
    expect((await answers(world, 42)).filter((status) => status === 200)).toHaveLength(3);
    await world.advance(2 * CUT_MS);
    expect(await answers(world, 43)).toEqual(Array.from({ length: 9 }, () => 200));
    expect(world.violations).toEqual([]);
    await world.close();
  });
});

describe('A node that stands by for others', () => {
  const TENANT = '00000000-6d0f-4e0e-9f0a-5f6c3b1d2a10';
  const CUT_MS = 20_000;
  const STEP_MS = 50;

  it('forwards at once after a lost ownership, before it can read that loss from the database', async () => {
    const locations = [{ locationId: 'quay', name: 'Quay', permanentLimitKw: 50 }];
    const tenant = { tenantUuid: TENANT, name: 'Tenant', features: ['energy-management'], locations };
    const parsed = provisioningSchema.parse({ tenants: [tenant] });
    const world = await createWorld({ ...parsed, seed: 1, startMs: 0, nodes: 3, visitorsOf: () => HUNGRY });
    await world.advance(30_000);
    world.strikeNode('nodeCutFromDatabase', 'active', CUT_MS, 1);
    await world.advance(CUT_MS - STEP_MS);
    const statuses: number[] = [];
    for (let nth = 0; nth < 60; nth++) {
      if (nth % 3 === 0) await world.advance(STEP_MS);
      const body = { limitKw: 40 + (nth % 3) };
      statuses.push((await world.call('PUT', '/locations/quay/limit', body, TENANT)).status);
    }
    expect(statuses).toContain(200);
    expect(statuses.filter((status) => status >= 500)).toEqual([]);
    expect(world.violations).toEqual([]);
    await world.close();
  });
});

describe('The writer watch', () => {
  function watched() {
    const found: string[] = [];
    const watch = new WriterWatch(({ target, detail }: Omit<Violation, 'atMs'>) =>
      found.push(`${target}: ${detail}`),
    );
    return { watch, found };
  }

  it('reports nothing while each node writes in its own ownership term', () => {
    const { watch, found } = watched();
    watch.claimed('a', 1, 0);
    watch.wrote('a');
    watch.claimed('b', 3, 1_000);
    watch.wrote('b');
    watch.granted('b');
    expect(found).toEqual([]);
    expect(watch.terms).toBe(2);
  });

  it('counts the ownership terms of each shard separately', () => {
    const { watch, found } = watched();
    watch.claimed('a', 1, 0, 'shard 1');
    watch.claimed('b', 2, 0, 'shard 2');
    watch.wrote('a', 'shard 1');
    watch.granted('b', 'shard 2');
    expect(found).toEqual([]);
    watch.claimed('b', 3, 0, 'shard 1');
    watch.wrote('a', 'shard 1');
    watch.granted('a', 'shard 2');
    expect(found).toEqual([
      'a: a write of term 1 was taken in term 3',
      'a: a limit of term 0 left in term 2',
    ]);
  });

  it('reports shared ownership terms, terms that do not rise, late writes, late grants and wrong clocks', () => {
    const { watch, found } = watched();
    watch.claimed('a', 1, 0);
    watch.claimed('b', 1, 0);
    watch.claimed('b', 2, -5_000);
    watch.wrote('a');
    watch.granted('a');
    expect(found).toEqual([
      'b: it has term 1, which a had',
      'b: its term 1 is not above 1',
      'b: it became the owner with a clock that is -5000 ms ahead',
      'a: a write of term 1 was taken in term 2',
      'a: a limit of term 1 left in term 2',
    ]);
  });
});
