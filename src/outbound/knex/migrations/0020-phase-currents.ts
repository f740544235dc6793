// What flowed on each phase of the grid, beside the power of each minute.
import type { Knex } from 'knex';

const COLUMNS = ['mean', 'max'].flatMap((what) =>
  ['l1', 'l2', 'l3'].map((phase) => `${what}_${phase}_tenths_a`),
);

/** NULL where no fuse of the location was known, and in minutes of before. */
export async function up(knex: Knex): Promise<void> {
  for (const column of COLUMNS) await knex.raw(`alter table power_minutes add column ${column} integer`);
}

export async function down(knex: Knex): Promise<void> {
  for (const column of COLUMNS) await knex.raw(`alter table power_minutes drop column ${column}`);
}
