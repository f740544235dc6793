// The database engine in use: most SQL is the same for both, and the rest depends on this.
import type { Knex } from 'knex';

export type Engine = 'sqlite' | 'postgres';

/** The engine behind a handle or a transaction of it. */
export function engineOf(knex: Knex): Engine {
  return knex.client.config.client === 'pg' ? 'postgres' : 'sqlite';
}

/**
 * `table`, to be read through `index`. SQLite keeps no statistics here. So it would read all of a tenant's history by
 * the table, instead of one target's by an index.
 */
export function readThrough(knex: Knex, table: string, index: string): Knex.Raw {
  return engineOf(knex) === 'sqlite' ? knex.raw('?? indexed by ??', [table, index]) : knex.raw('??', [table]);
}

/** A double with all its digits: SQLite misreads the shortest form of one number in ten thousand by its last bit. */
export function exactDouble(value: number): string {
  return value.toPrecision(17);
}

/** The file of `sqlite:PATH` (`:memory:` included), or undefined for a URL of PostgreSQL. */
export function sqliteFileOf(databaseUrl: string): string | undefined {
  return databaseUrl.startsWith('sqlite:') ? databaseUrl.slice('sqlite:'.length) : undefined;
}

/** The file of an SQLite database on disk; undefined for one in memory, and for PostgreSQL. */
export function databaseFileOf(databaseUrl: string): string | undefined {
  const file = sqliteFileOf(databaseUrl);
  return file === ':memory:' ? undefined : file;
}
