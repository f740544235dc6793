// Adds the counted load of the building and the reserve for it to the minutes of power.
import type { Knex } from 'knex';

const COLUMNS = ['mean_building_w', 'max_building_w', 'mean_reserve_w'] as const;

/** NULL for a location without a known site meter, and in earlier minutes. */
export async function up(knex: Knex): Promise<void> {
  for (const column of COLUMNS)
    await knex.raw(`alter table power_minutes add column ${column} double precision`);
}

export async function down(knex: Knex): Promise<void> {
  for (const column of COLUMNS) await knex.raw(`alter table power_minutes drop column ${column}`);
}
