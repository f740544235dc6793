// The id of a database and the number of its commits: a start compares them with the last acknowledged commit.
import { randomUUID } from 'node:crypto';
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw("alter table owner add column database_id text not null default ''");
  await knex.raw('alter table owner add column commits bigint not null default 0');
  await knex('owner').update({ database_id: randomUUID() });
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('alter table owner drop column commits');
  await knex.raw('alter table owner drop column database_id');
}
