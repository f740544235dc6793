// Adds the mean limit in force and the estimated part of the power to the minutes of power.
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
