// The creator, the last use and the ender of a credential, and the expiry of OAuth clients.
import type { Knex } from 'knex';

const COLUMNS = [
  ['name', 'text'],
  ['created_at_ms', 'bigint'],
  ['created_by', 'text'],
  ['last_used_at_ms', 'bigint'],
  ['ended_by', 'text'],
] as const;

const ADDED = [
  ...['api_keys', 'oauth_clients'].flatMap((table) =>
    COLUMNS.map(([column, type]) => ({ table, column, type })),
  ),
  { table: 'oauth_clients', column: 'expires_at_ms', type: 'bigint' },
];

/** NULL in rows of earlier releases, which did not keep it. */
export async function up(knex: Knex): Promise<void> {
  for (const { table, column, type } of ADDED)
    await knex.raw(`alter table ${table} add column ${column} ${type}`);
}

export async function down(knex: Knex): Promise<void> {
  for (const { table, column } of ADDED) await knex.raw(`alter table ${table} drop column ${column}`);
}
