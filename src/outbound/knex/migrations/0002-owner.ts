// The owner of the database: one running service at a time, identified by the epoch that it raised at its start.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(
    'create table owner (only_row integer primary key check (only_row = 1), epoch bigint not null)',
  );
  await knex.raw('insert into owner (only_row, epoch) values (1, 0)');
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.dropTable('owner');
}
