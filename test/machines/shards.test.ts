// The distribution of shards over nodes: the same result everywhere, even, and without an unneeded move.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TenantUuid } from '../../machines/values/ids.js';
import { assignShards, SHARDS, shardOf } from '../../machines/values/shards.js';

const nodeIds = fc.uniqueArray(fc.stringMatching(/^[a-z0-9]{1,8}$/), { minLength: 1, maxLength: 20 });

/** Living nodes, and the owner of each shard: a living node, a lost one, or none. */
const anyHoldings = nodeIds.chain((living) =>
  fc.record({
    living: fc.constant(living),
    holders: fc.array(fc.option(fc.constantFrom(...living, 'gone'), { nil: undefined }), {
      minLength: SHARDS,
      maxLength: SHARDS,
    }),
  }),
);

function loadsOf(assigned: readonly (string | undefined)[], living: readonly string[]): number[] {
  return living.map((nodeId) => assigned.filter((holder) => holder === nodeId).length);
}

/** Shards that leave a living node. */
function movesFrom(
  before: readonly (string | undefined)[],
  after: readonly (string | undefined)[],
): number[] {
  return [...before.keys()].filter((shard) => before[shard] !== undefined && before[shard] !== after[shard]);
}

const nobody = Array.from({ length: SHARDS }, () => undefined);

describe('A tenant', () => {
  it('is of the same shard for ever', () => {
    const tenants = ['0b6cf0c4-6d0f-4e0e-9f0a-5f6c3b1d2a10', 'a', ''] as TenantUuid[];
    expect(tenants.map(shardOf)).toEqual([10, 3, 11]);
  });

  it('is of any shard as likely as of any other', () => {
    const counts = new Map<number, number>();
    for (let i = 0; i < 16_000; i++) {
      const shard = shardOf(`0b6cf0c4-6d0f-4e0e-9f0a-${String(i).padStart(12, '0')}` as TenantUuid);
      counts.set(shard, (counts.get(shard) ?? 0) + 1);
    }
    expect(counts.size).toBe(SHARDS);
    // Five standard deviations of a fair draw.
    for (const count of counts.values()) expect(Math.abs(count - 1_000)).toBeLessThan(155);
  });
});

describe('The assignment of shards to nodes', () => {
  it('gives every shard to a node that lives, and to all nodes as many, give or take one', () => {
    fc.assert(
      fc.property(anyHoldings, ({ living, holders }) => {
        const loads = loadsOf(assignShards(holders, living), living);
        expect(loads.reduce((sum, load) => sum + load, 0)).toBe(SHARDS);
        expect(Math.max(...loads) - Math.min(...loads)).toBeLessThanOrEqual(1);
      }),
    );
  });

  it('is the same in any order of the nodes', () => {
    fc.assert(
      fc.property(anyHoldings, fc.infiniteStream(fc.nat()), ({ living, holders }, draws) => {
        const shuffled = living
          .map((nodeId) => [draws.next().value, nodeId] as const)
          .sort(([a], [b]) => Number(a) - Number(b))
          .map(([, nodeId]) => nodeId);
        expect(assignShards(holders, shuffled)).toEqual(assignShards(holders, living));
      }),
    );
  });

  it('stays as it is once it is carried out', () => {
    fc.assert(
      fc.property(anyHoldings, ({ living, holders }) => {
        const assigned = assignShards(holders, living);
        expect(assignShards(assigned, living)).toEqual(assigned);
      }),
    );
  });

  it('moves no more shards than must move to be even', () => {
    fc.assert(
      fc.property(anyHoldings, ({ living, holders }) => {
        const held = holders.map((holder) => (holder === 'gone' ? undefined : holder));
        const floor = Math.floor(SHARDS / living.length);
        const extra = SHARDS % living.length;
        const loads = loadsOf(held, living).sort((a, b) => b - a);
        const least = loads.reduce(
          (sum, load, place) => sum + Math.max(0, load - floor - (place < extra ? 1 : 0)),
          0,
        );
        expect(movesFrom(held, assignShards(held, living))).toHaveLength(least);
      }),
    );
  });

  it('moves only shards of a node that goes, and only to a node that comes', () => {
    fc.assert(
      fc.property(
        nodeIds.filter((living) => living.length > 1),
        (living) => {
          const [one = '', ...others] = living;
          const among = assignShards(nobody, others);
          const joined = assignShards(among, living);
          for (const shard of movesFrom(among, joined)) expect(joined[shard]).toBe(one);
          const left = assignShards(joined, others);
          for (const shard of movesFrom(joined, left)) expect(joined[shard]).toBe(one);
        },
      ),
    );
  });

  it('comes to rest when shards move one after another, in any order, without one that moves twice', () => {
    fc.assert(
      fc.property(anyHoldings, fc.infiniteStream(fc.nat()), ({ living, holders }, draws) => {
        let now = holders.map((holder) => (holder === 'gone' ? undefined : holder));
        const released = new Set<number>();
        for (let step = 0; ; step++) {
          expect(step).toBeLessThan(3 * SHARDS);
          const goal = assignShards(now, living);
          const due = [...now.keys()].filter((shard) => now[shard] !== goal[shard]);
          if (due.length === 0) return;
          const shard = due[Number(draws.next().value) % due.length] ?? 0;
          // The shard is released before it is claimed.
          if (now[shard] !== undefined) expect(released.has(shard)).toBe(false);
          if (now[shard] !== undefined) released.add(shard);
          now = now.with(shard, now[shard] === undefined ? goal[shard] : undefined);
        }
      }),
    );
  });

  const anyDeclined = anyHoldings.chain(({ living, holders }) =>
    fc.record({
      living: fc.constant(living),
      holders: fc.constant(holders),
      declined: fc
        .array(fc.tuple(fc.constantFrom(...living), fc.nat(SHARDS - 1)), { maxLength: 30 })
        .map(
          (pairs) =>
            new Map(
              living.map((nodeId) => [
                nodeId,
                pairs.filter(([node]) => node === nodeId).map(([, shard]) => shard),
              ]),
            ),
        ),
    }),
  );

  it('gives a shard to no node that declined it, unless all did', () => {
    fc.assert(
      fc.property(anyDeclined, ({ living, holders, declined }) => {
        for (const [shard, nodeId = ''] of assignShards(holders, living, declined).entries()) {
          const isDeclinedBy = (node: string) => declined.get(node)?.includes(shard) === true;
          expect(living).toContain(nodeId);
          if (isDeclinedBy(nodeId)) expect(living.every(isDeclinedBy)).toBe(true);
        }
      }),
    );
  });

  it('stays even where one node of several declines a shard, and comes to rest', () => {
    fc.assert(
      fc.property(
        anyHoldings.filter(({ living }) => living.length > 1),
        fc.nat(SHARDS - 1),
        ({ living, holders }, shard) => {
          const declined = new Map([[living[0] ?? '', [shard]]]);
          let now = assignShards(holders, living, declined);
          for (let round = 0; round < 2; round++) now = assignShards(now, living, declined);
          expect(assignShards(now, living, declined)).toEqual(now);
          const loads = loadsOf(now, living);
          expect(Math.max(...loads) - Math.min(...loads)).toBeLessThanOrEqual(1);
        },
      ),
    );
  });

  it('is of nobody where no node lives', () => {
    expect(assignShards(nobody, [])).toEqual(nobody);
  });
});
