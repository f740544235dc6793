// The reason at the begin of an alarm, if the present one differs.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw('alter table alarms add column first_reason text');
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('alter table alarms drop column first_reason');
}
