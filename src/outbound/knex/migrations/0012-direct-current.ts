// The rating of a DC connector, as JSON: NULL for all earlier connectors, which are AC.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw('alter table connectors add column direct_current text');
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('alter table connectors drop column direct_current');
}
