// What the building beside the chargers counted as, and what was kept free for it, beside the power of each minute.
import type { Knex } from 'knex';

const COLUMNS = ['mean_building_w', 'max_building_w', 'mean_reserve_w'] as const;

/** NULL where no meter of the location was known, and in minutes of before. */
export async function up(knex: Knex): Promise<void> {
  for (const column of COLUMNS)
    await knex.raw(`alter table power_minutes add column ${column} double precision`);
}

export async function down(knex: Knex): Promise<void> {
  for (const column of COLUMNS) await knex.raw(`alter table power_minutes drop column ${column}`);
}
