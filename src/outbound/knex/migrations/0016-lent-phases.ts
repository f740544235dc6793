// The number of phases of a connector's reserved grant.
import type { Knex } from 'knex';

/** NULL means "all phases". */
export async function up(knex: Knex): Promise<void> {
  await knex.raw('alter table reservations add column phases integer');
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('alter table reservations drop column phases');
}
