// Connectors whose cars do not wake up after a pause: none in earlier databases.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw('alter table connectors add column never_pause integer not null default 0');
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('alter table connectors drop column never_pause');
}
