// Chargers with a heartbeat and a lease of their own, and how long what was promised lasts.
import type { Knex } from 'knex';

const COLUMNS = [
  ['chargers', 'heartbeat_ms'],
  ['chargers', 'lease_ttl_ms'],
  ['reservations', 'ttl_ms'],
] as const;

/** NULL is "as the service is set". */
export async function up(knex: Knex): Promise<void> {
  for (const [table, column] of COLUMNS) await knex.raw(`alter table ${table} add column ${column} integer`);
}

export async function down(knex: Knex): Promise<void> {
  for (const [table, column] of COLUMNS) await knex.raw(`alter table ${table} drop column ${column}`);
}
