// Chargers with their own heartbeat and lease, and the lease of each reservation.
import type { Knex } from 'knex';

const COLUMNS = [
  ['chargers', 'heartbeat_ms'],
  ['chargers', 'lease_ttl_ms'],
  ['reservations', 'ttl_ms'],
] as const;

/** NULL means "by the settings of the service". */
export async function up(knex: Knex): Promise<void> {
  for (const [table, column] of COLUMNS) await knex.raw(`alter table ${table} add column ${column} integer`);
}

export async function down(knex: Knex): Promise<void> {
  for (const [table, column] of COLUMNS) await knex.raw(`alter table ${table} drop column ${column}`);
}
