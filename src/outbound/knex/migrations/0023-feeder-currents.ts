// What flowed through each feeder, beside the power of each minute.
import type { Knex } from 'knex';

/** NULL where the location had no feeders, and in minutes of before. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw('alter table power_minutes add column feeders text');
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('alter table power_minutes drop column feeders');
}
