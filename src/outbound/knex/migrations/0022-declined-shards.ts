// Which shards a node could not run, where several nodes share the tenants: they are for others.
import type { Knex } from 'knex';

/** Numbers with spaces between them; NULL from a node of a version that declines none. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw('alter table members add column declined text');
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('alter table members drop column declined');
}
