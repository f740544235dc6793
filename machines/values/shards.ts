// Divides the tenants into shards, and assigns each shard to a node. Pure, so that all nodes agree.
import type { TenantUuid } from './ids.js';

/** Number of parts of the tenants. Databases contain it, so it never changes. */
export const SHARDS = 16;

/** One part of the tenants: a whole number from 0 on, below `SHARDS`. */
export type Shard = number;

export const ALL_SHARDS: readonly Shard[] = Array.from({ length: SHARDS }, (_, shard) => shard);

/** A tenant keeps its shard for ever. */
export function shardOf(tenantUuid: TenantUuid): Shard {
  return hashOf(tenantUuid) % SHARDS;
}

/**
 * Node for each shard. All nodes get an equal number of shards, give or take one. A shard leaves a living node only if
 * that balance requires it. Rendezvous hashing (Thaler and Ravishankar, 1998) decides which shards move and where to,
 * so that all nodes find the same answer.
 * @param holders present owner of each shard; undefined without one.
 * @param nodeIds living nodes, in any order.
 * @param declined by node, the shards that it could not run: it gets one of them only if every node has declined that
 * one.
 * @returns node of each shard; undefined for all without a living node.
 */
export function assignShards(
  holders: readonly (string | undefined)[],
  nodeIds: readonly string[],
  declined: ReadonlyMap<string, readonly Shard[]> = new Map(),
): readonly (string | undefined)[] {
  const takersOf = (shard: Shard) => {
    const willing = nodeIds.filter((nodeId) => declined.get(nodeId)?.includes(shard) !== true);
    return willing.length === 0 ? nodeIds : willing;
  };
  const takers = holders.map((_, shard) => takersOf(shard));
  const held = new Map(nodeIds.map((nodeId) => [nodeId, [] as Shard[]]));
  for (const [shard, nodeId] of holders.entries())
    if (nodeId !== undefined && takers[shard]?.includes(nodeId)) held.get(nodeId)?.push(shard);
  const room = quotasOf(held, holders.length);
  const assigned = holders.map((): string | undefined => undefined);
  const give = (shard: Shard, nodeId: string) => {
    assigned[shard] = nodeId;
    room.set(nodeId, (room.get(nodeId) ?? 0) - 1);
  };
  for (const [nodeId, shards] of held) {
    // A shard that fewer nodes can run stays in its place before others.
    const choicesOf = (shard: Shard) => takers[shard]?.length ?? 0;
    const byWeight = [...shards].sort(
      (a, b) => choicesOf(a) - choicesOf(b) || weightOf(b, nodeId) - weightOf(a, nodeId) || a - b,
    );
    for (const shard of byWeight.slice(0, room.get(nodeId))) give(shard, nodeId);
  }
  for (const [shard, nodes] of takers.entries()) {
    if (assigned[shard] !== undefined) continue;
    const hasRoom = (nodeId: string) => Number((room.get(nodeId) ?? 0) > 0);
    const [first] = [...nodes].sort(
      (a, b) => hasRoom(b) - hasRoom(a) || weightOf(shard, b) - weightOf(shard, a) || order(a, b),
    );
    if (first !== undefined) give(shard, first);
  }
  return assigned;
}

/** Number of shards for each node. If they do not divide evenly, the nodes that hold most get one more. */
function quotasOf(held: ReadonlyMap<string, readonly Shard[]>, shards: number): Map<string, number> {
  const each = Math.floor(shards / held.size);
  const left = shards - each * held.size;
  const byHoldings = [...held].sort(([a, ofA], [b, ofB]) => ofB.length - ofA.length || order(a, b));
  return new Map(byHoldings.map(([nodeId], place) => [nodeId, each + (place < left ? 1 : 0)]));
}

function order(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

function weightOf(shard: Shard, nodeId: string): number {
  return hashOf(`${nodeId}/${shard}`);
}

/** FNV-1a of 32 bits, and the last step of MurmurHash3, so that texts with equal endings do not lie side by side. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
