// The reason an alarm began with, where it has another now.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw('alter table alarms add column first_reason text');
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('alter table alarms drop column first_reason');
}
