// On how many of its phases a connector was promised what it was.
import type { Knex } from 'knex';

/** NULL is "on all of them". */
export async function up(knex: Knex): Promise<void> {
  await knex.raw('alter table reservations add column phases integer');
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('alter table reservations drop column phases');
}
