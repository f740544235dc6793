// Shards that a node could not run, if several nodes share the tenants: other nodes take them.
import type { Knex } from 'knex';

/** Numbers separated by spaces; NULL for a node of a version that declines none. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw('alter table members add column declined text');
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('alter table members drop column declined');
}
