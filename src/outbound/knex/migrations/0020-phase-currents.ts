// Adds the current of each phase of the grid to the minutes of power.
import type { Knex } from 'knex';

const COLUMNS = ['mean', 'max'].flatMap((what) =>
  ['l1', 'l2', 'l3'].map((phase) => `${what}_${phase}_tenths_a`),
);

/** NULL for a location without known fuses, and in earlier minutes. */
export async function up(knex: Knex): Promise<void> {
  for (const column of COLUMNS) await knex.raw(`alter table power_minutes add column ${column} integer`);
}

export async function down(knex: Knex): Promise<void> {
  for (const column of COLUMNS) await knex.raw(`alter table power_minutes drop column ${column}`);
}
