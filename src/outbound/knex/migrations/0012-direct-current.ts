// What a DC connector can do, as JSON: NULL for the AC connectors that there were before.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw('alter table connectors add column direct_current text');
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('alter table connectors drop column direct_current');
}
