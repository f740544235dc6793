// Rows of the nodes that share the tenants of a database: the owner of each shard, and the nodes that are alive.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Knex } from 'knex';
import { SHARDS, type Shard } from '../../../machines/values/shards.js';
import type { Holder } from '../../ports/ownership.js';
import type { ClusterView, Member, Membership } from '../../ports/shared-database.js';
import { StoreUnavailableError } from '../../ports/store.js';
import type { DatabaseClock } from './database-clock.js';
import type { OwnNode } from './database-ownership.js';
import { inClaim, isVacantAt, NOBODY, type OwnedRow, type Renewal } from './ownership.js';
import { inTransaction, overConnection } from './transaction.js';
import { orUnavailable } from './unavailable.js';

/** Rows of dead nodes are deleted after this time. */
const FORGOTTEN_AFTER_MS = 600_000;

/** @param renewals shared by all shards of this node */
export function shardRow(shard: Shard, renewals: Renewals): OwnedRow {
  return {
    name: `shard ${shard}`,
    row: (knex) => knex('shards').where({ shard }),
    rival: (knex) => knex('owner').first('node_id', 'alive_until_ms'),
    async begin(knex, owner, ifVacant) {
      // Two statements, each a transaction of its own: a node that is frozen between them delays no other.
      const ownerTerm = await nextTerm(knex, ifVacant?.now);
      if (ownerTerm === undefined) return undefined;
      const taken = await inClaim(knex, (trx) =>
        trx('shards')
          .where({ shard })
          .modify(
            (query) => ifVacant && query.where({ epoch: ifVacant.ownerTerm }).where(isVacantAt(ifVacant.now)),
          )
          .update({ epoch: ownerTerm, ...owner, node_url: null }),
      );
      return taken > 0 ? { ownerTerm } : undefined;
    },
    renew: (knex, renewal) => renewals.renew(knex, { shard, ...renewal }),
    async countCommitOf(trx, ownerTerm) {
      const counted = { commits: trx.raw('commits + 1') };
      const rows = await trx('shards').where({ shard, epoch: ownerTerm }).update(counted);
      if (rows === 0) throw new StoreUnavailableError(`another node has taken over shard ${shard}`);
      return undefined;
    },
  };
}

/**
 * Raises the one counter of terms: a service that owned the whole database can commit nothing from now on.
 * Undefined if such a service holds a lease at `now`.
 */
function nextTerm(knex: Knex, now: Knex.Raw | undefined): Promise<number | undefined> {
  return inClaim(knex, async (trx) => {
    const rows: { epoch: number }[] = await trx('owner')
      .modify((query) => now && query.where(isVacantAt(now)))
      .update({ epoch: trx.raw('epoch + 1'), ...NOBODY })
      .returning('epoch');
    return rows[0]?.epoch;
  });
}

interface ShardRenewal extends Renewal {
  readonly shard: Shard;
}

/**
 * Renews the leases of all shards of a node that ask at one time in one transaction: each commit waits for the disk.
 */
export class Renewals {
  #asked: ShardRenewal[] = [];
  #renewed: Promise<ReadonlySet<Shard>> | undefined;

  async renew(knex: Knex, renewal: ShardRenewal): Promise<boolean> {
    this.#asked.push(renewal);
    this.#renewed ??= nextTurn().then(() => this.#renewAll(knex));
    return (await this.#renewed).has(renewal.shard);
  }

  #renewAll(knex: Knex): Promise<ReadonlySet<Shard>> {
    const asked = this.#asked;
    this.#asked = [];
    this.#renewed = undefined;
    // All running shards of a node have the same URL. A shard that has yet to begin has none.
    const [running, beginning] = [
      asked.filter(({ nodeUrl }) => nodeUrl !== undefined),
      asked.filter(({ nodeUrl }) => nodeUrl === undefined),
    ];
    return inTransaction(knex, async (trx) => {
      const renewed = new Set<Shard>();
      for (const renewals of [running, beginning])
        for (const shard of await renewIn(trx, renewals)) renewed.add(shard);
      return renewed;
    });
  }
}

/** The shards whose term has not passed. */
async function renewIn(trx: Knex.Transaction, renewals: readonly ShardRenewal[]): Promise<readonly Shard[]> {
  const [first] = renewals;
  if (first === undefined) return [];
  const rows: { shard: Shard }[] = await trx('shards')
    .where((own) => {
      for (const { shard, ownerTerm } of renewals) own.orWhere({ shard, epoch: ownerTerm });
    })
    .update({ alive_until_ms: first.aliveUntil, ...(first.nodeUrl && { node_url: first.nodeUrl }) })
    .returning('shard');
  return rows.map(({ shard }) => shard);
}

interface ViewRow {
  /** null: the row is of a member. */
  readonly shard: Shard | null;
  readonly node_id: string;
  readonly node_url: string | null;
  /** Of a member. */
  readonly declined: string | null;
}

export class DatabaseMembership implements Membership {
  readonly #knex: Knex;
  readonly #clock: DatabaseClock;
  readonly #node: OwnNode & { readonly leaseMs: number };

  constructor(knex: Knex, clock: DatabaseClock, node: OwnNode & { readonly leaseMs: number }) {
    this.#knex = knex;
    this.#clock = clock;
    this.#node = node;
  }

  async join(declined: readonly Shard[]): Promise<void> {
    await orUnavailable(() => this.#clock.check());
    await this.renew(declined);
    const forgotten = this.#clock.inMs(-FORGOTTEN_AFTER_MS);
    await orUnavailable(() => this.#knex('members').where('alive_until_ms', '<', forgotten).delete());
  }

  async renew(declined: readonly Shard[]): Promise<void> {
    const { nodeId, url, leaseMs } = this.#node;
    const row = {
      node_id: nodeId,
      node_url: url() ?? null,
      declined: declined.join(' '),
      alive_until_ms: this.#clock.inMs(leaseMs),
    };
    await orUnavailable(() => this.#knex('members').insert(row).onConflict('node_id').merge());
  }

  async leave(): Promise<void> {
    await orUnavailable(() => this.#knex('members').where({ node_id: this.#node.nodeId }).delete());
  }

  async view(): Promise<ClusterView> {
    const rows: ViewRow[] = await orUnavailable(() => this.#look());
    const holders: (Holder | undefined)[] = Array.from({ length: SHARDS }, () => undefined);
    const members: Member[] = [];
    for (const { shard, node_id: nodeId, node_url, declined } of rows) {
      const node = { nodeId, url: node_url ?? undefined };
      if (shard === null)
        members.push({ ...node, declined: declined ? declined.split(' ').map(Number) : [] });
      else holders[shard] = node;
    }
    return { members, holders };
  }

  #look(): Promise<ViewRow[]> {
    const lives = (query: Knex.QueryBuilder) =>
      query.whereNotNull('node_id').where('alive_until_ms', '>', this.#clock.inMs(0));
    const found = this.#knex('shards')
      .modify(lives)
      .select('shard', 'node_id', 'node_url', this.#knex.raw('null as declined'))
      .unionAll(
        this.#knex('members').modify(lives).select(this.#knex.raw('null'), 'node_id', 'node_url', 'declined'),
      );
    return overConnection(this.#knex, (connection) => found.connection(connection));
  }
}
