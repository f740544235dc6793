// Minutes of power beside the limit that was in force on average, and how much of the power nobody measured.
import type { Knex } from 'knex';

const COLUMNS = ['mean_limit_w', 'estimated_w'] as const;

/** Minutes of before have neither: NULL is "as the lowest limit" for the one, "all measured" for the other. */
export async function up(knex: Knex): Promise<void> {
  for (const column of COLUMNS) {
    await knex.raw(`alter table power_minutes add column ${column} double precision`);
  }
}

export async function down(knex: Knex): Promise<void> {
  for (const column of COLUMNS) await knex.raw(`alter table power_minutes drop column ${column}`);
}
