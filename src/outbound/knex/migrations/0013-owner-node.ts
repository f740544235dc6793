// Which node owns the database, where the others reach it, and how long its lease lasts by the database's clock.
import type { Knex } from 'knex';

const COLUMNS = ['node_id text', 'node_url text', 'alive_until_ms bigint'] as const;

/** All are NULL where nobody owns it; `alive_until_ms` also where its owner holds no lease. */
export async function up(knex: Knex): Promise<void> {
  for (const column of COLUMNS) await knex.raw(`alter table owner add column ${column}`);
}

export async function down(knex: Knex): Promise<void> {
  for (const column of COLUMNS) await knex.raw(`alter table owner drop column ${column.split(' ')[0]}`);
}
