// Adds to each minute of power the mean of the limit in force, and the part of the power that is estimated.
import type { Knex } from 'knex';

const COLUMNS = ['mean_limit_w', 'estimated_w'] as const;

/**
 * NULL in earlier minutes means "equal to the lowest limit" for the first column, and "all measured" for the second.
 */
export async function up(knex: Knex): Promise<void> {
  for (const column of COLUMNS) {
    await knex.raw(`alter table power_minutes add column ${column} double precision`);
  }
}

export async function down(knex: Knex): Promise<void> {
  for (const column of COLUMNS) await knex.raw(`alter table power_minutes drop column ${column}`);
}
