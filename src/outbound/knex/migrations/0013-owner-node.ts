// The node that owns the database, its URL for other nodes, and the end of its lease by the database's clock.
import type { Knex } from 'knex';

const COLUMNS = ['node_id text', 'node_url text', 'alive_until_ms bigint'] as const;

/** All are NULL without an owner; `alive_until_ms` also for an owner without a lease. */
export async function up(knex: Knex): Promise<void> {
  for (const column of COLUMNS) await knex.raw(`alter table owner add column ${column}`);
}

export async function down(knex: Knex): Promise<void> {
  for (const column of COLUMNS) await knex.raw(`alter table owner drop column ${column.split(' ')[0]}`);
}
