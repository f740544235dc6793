// For nodes that share the tenants: the owner and the epoch of each shard, and the nodes that are alive.
import type { Knex } from 'knex';
import { engineOf } from '../engine.js';

const SHARDS = 16;

/** A shard without an owner has NULLs. All leases end by the database's clock. */
export async function up(knex: Knex): Promise<void> {
  const text = engineOf(knex) === 'sqlite' ? 'text' : 'text collate "C"';
  await knex.raw(`create table shards (
    shard integer primary key,
    epoch bigint not null,
    commits bigint not null,
    node_id ${text},
    node_url ${text},
    alive_until_ms bigint
  )`);
  for (let shard = 0; shard < SHARDS; shard++) await knex('shards').insert({ shard, epoch: 0, commits: 0 });
  await knex.raw(`create table members (
    node_id ${text} primary key,
    node_url ${text},
    alive_until_ms bigint not null
  )`);
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.dropTable('members');
  await knex.schema.dropTable('shards');
}
