// Brings a database to the schema of this version, also if another process does so at the same moment.
import type { Knex } from 'knex';
import { StoreUnavailableError } from '../../ports/store.js';
import { LOCK_TIMEOUT_MS, START_LOCK_TIMEOUT_MS } from './connection.js';
import { engineOf } from './engine.js';
import { joinUnreleased } from './migrations.js';

// 'HEAD' and 'room' in ASCII: the mark in an SQLite file's header, and the key of the lock in PostgreSQL.
const APPLICATION_ID = 0x48454144;
const LOCK_KEY = 0x726f6f6d;
const MISSING_FILES = 'files are missing';

/** True for an SQLite database that Headroom created. */
export async function isHeadroomDatabase(knex: Knex): Promise<boolean> {
  const [row]: { application_id: number }[] = await knex.raw('pragma application_id');
  return row?.application_id === APPLICATION_ID && knex.schema.hasTable('owner');
}

/**
 * Runs all pending migrations in one transaction, for which other processes wait.
 * So a crash leaves nothing half done, and no lock.
 * @returns the names of the migrations that ran.
 */
export async function migrateDatabase(knex: Knex): Promise<readonly string[]> {
  const isSqlite = engineOf(knex) === 'sqlite';
  return knex.transaction(async (trx) => {
    if (isSqlite) await trx.raw(`pragma busy_timeout = ${START_LOCK_TIMEOUT_MS}`);
    // The first write takes SQLite's only write lock.
    await trx.raw(
      isSqlite
        ? `pragma application_id = ${APPLICATION_ID}`
        : `set local lock_timeout = 0; set local statement_timeout = 0; select pg_advisory_xact_lock(${LOCK_KEY})`,
    );
    await joinUnreleased(trx);
    const [, names]: [number, string[]] = await trx.migrate.latest().catch(tellIfNewer);
    if (isSqlite) await trx.raw(`pragma busy_timeout = ${LOCK_TIMEOUT_MS}`);
    return names;
  });
}

/** @throws StoreUnavailableError if a newer version made the schema; knex then misses the files of its migrations. */
function tellIfNewer(error: Error): never {
  if (!error.message.includes(MISSING_FILES)) throw error;
  throw new StoreUnavailableError(
    'the database has the schema of a newer version of Headroom: start that version, or restore a backup from before the upgrade',
  );
}
