// The fuses of a location and the wiring of its connectors: connection and feeders as JSON.
import type { Knex } from 'knex';

const COLUMNS = [
  ['locations', 'connection'],
  ['locations', 'feeders'],
  ['chargers', 'feeder'],
  ['connectors', 'rotation'],
] as const;

/** NULL means "unknown": none was provisioned. */
export async function up(knex: Knex): Promise<void> {
  for (const [table, column] of COLUMNS) await knex.raw(`alter table ${table} add column ${column} text`);
}

export async function down(knex: Knex): Promise<void> {
  for (const [table, column] of COLUMNS) await knex.raw(`alter table ${table} drop column ${column}`);
}
