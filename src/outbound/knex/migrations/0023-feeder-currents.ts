// Adds the currents of each feeder to the minutes of power.
import type { Knex } from 'knex';

/** NULL for a location without feeders, and in earlier minutes. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw('alter table power_minutes add column feeders text');
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('alter table power_minutes drop column feeders');
}
