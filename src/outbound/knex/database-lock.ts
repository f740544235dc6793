// Locks an SQLite database: services and commands share it, a restore has it
// alone. A gateway locks its data directory alone.
import { basename, dirname, join } from 'node:path';
import type { Knex } from 'knex';
import { StoreUnavailableError } from '../../ports/store.js';
import { createClient, makeSqliteFile } from './connection.js';

const WAIT_FOR_RESTORE_MS = 2000;
const WAIT_FOR_USERS_MS = 200;

/**
 * A lock on a database file, held by a transaction on an empty SQLite file beside it. The system releases it when its
 * process ends, in any way. It locks the path: it holds even if the database's own file is moved or replaced.
 */
export class DatabaseLock {
  readonly #knex: Knex;

  private constructor(knex: Knex) {
    this.#knex = knex;
  }

  /** Shared with others. @throws StoreUnavailableError while another process holds it alone. */
  static async share(databaseFile: string): Promise<DatabaseLock> {
    return DatabaseLock.#take(
      databaseFile,
      [`pragma busy_timeout = ${WAIT_FOR_RESTORE_MS}`, 'begin', 'select count(*) from sqlite_master'],
      `${databaseFile} is being restored: try again when that is done`,
    );
  }

  /** @throws StoreUnavailableError with `refusal` while a service, a command or a gateway uses it. */
  static async alone(
    databaseFile: string,
    refusal = `${databaseFile} is in use: stop the service, and any other command on it, first`,
  ): Promise<DatabaseLock> {
    const statements = [`pragma busy_timeout = ${WAIT_FOR_USERS_MS}`, 'begin exclusive'];
    return DatabaseLock.#take(databaseFile, statements, refusal);
  }

  static async #take(databaseFile: string, statements: readonly string[], refusal: string) {
    const filename = join(dirname(databaseFile), `in-use-${basename(databaseFile)}.lock`);
    makeSqliteFile(filename);
    const pool = { min: 1, max: 1 };
    const knex = createClient({ client: 'sqlite3', connection: { filename }, useNullAsDefault: true, pool });
    try {
      for (const statement of statements) await knex.raw(statement);
    } catch (error) {
      await knex.destroy();
      const isTaken = error instanceof Error && 'code' in error && error.code === 'SQLITE_BUSY';
      throw isTaken ? new StoreUnavailableError(refusal) : error;
    }
    return new DatabaseLock(knex);
  }

  async release(): Promise<void> {
    await this.#knex.destroy();
  }
}
