// Which database this is and how many commits it has taken: what a start compares with what was acknowledged before it.
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
