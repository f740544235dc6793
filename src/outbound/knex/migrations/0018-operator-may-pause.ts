// Connectors that the grid operator's limit may pause while they are locked: none in earlier databases.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw('alter table connectors add column operator_may_pause integer not null default 0');
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('alter table connectors drop column operator_may_pause');
}
