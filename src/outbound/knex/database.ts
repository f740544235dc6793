// Opens a database that is safe to use: no restore runs, no acknowledged commit is missing, the schema is up to date.
import { statSync } from 'node:fs';
import type { Knex } from 'knex';
import { counted } from '../../../machines/values/counted.js';
import { DatabaseLostError, StoreUnavailableError } from '../../ports/store.js';
import { LOCK_TIMEOUT_MS, type OpenOptions, openDatabase, START_LOCK_TIMEOUT_MS } from './connection.js';
import { CommitMark, OpenDatabaseFiles } from './database-files.js';
import { DatabaseLock } from './database-lock.js';
import { databaseFileOf, engineOf } from './engine.js';
import { joinUnreleased } from './migrations.js';
import { type Position, positionIn } from './ownership.js';
import { orUnavailable } from './unavailable.js';

// Brings a database to the schema of this version, also if another process does so at the same moment.

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

// Checks an SQLite database at each start: damaged pages would answer as if they were empty.

// These rows are by far the most and decide nothing: a damaged one is reported when it is read.
const UNCHECKED = 'power_minutes';

/**
 * The first problem of the tables and indexes (measured power only with `isPowerChecked`) and of the references between
 * rows; undefined without a problem. Takes some seconds for a million rows.
 */
export async function integrityProblem(
  knex: Knex,
  { isPowerChecked = false }: { readonly isPowerChecked?: boolean } = {},
): Promise<string | undefined> {
  const tables: { name: string }[] = await knex('sqlite_master').where('type', 'table').select('name');
  for (const { name } of tables) {
    if (name === UNCHECKED && !isPowerChecked) continue;
    // One problem is enough, and listing all takes long if a table is gone.
    const told: { integrity_check: string }[] = await knex.raw(`pragma integrity_check('${name}')`);
    const problem = told.find(({ integrity_check }) => integrity_check !== 'ok')?.integrity_check;
    if (problem !== undefined) return `${name}: ${problem.replaceAll('\n', ' ')}`;
  }
  const dangling: { table: string; parent: string }[] = await knex.raw('pragma foreign_key_check');
  const [first] = dangling;
  if (first === undefined) return undefined;
  return `${counted(dangling.length, 'row refers', 'rows refer')} to missing rows, the first in ${first.table} to ${first.parent}`;
}

const WAYS_OUT =
  'Put the right files back, restore a backup with "headroom restore FILE", or go on without the lost writes with "headroom restore --as-is"';
const DAMAGED = new Set(['SQLITE_CORRUPT', 'SQLITE_NOTADB']);

interface Guard {
  readonly lock: DatabaseLock;
  readonly mark: CommitMark;
  readonly files: OpenDatabaseFiles;
}

/** An open database. Note in `mark` each commit that must not be lost, before acknowledging it. */
export class Database {
  readonly knex: Knex;
  /** Names of the migrations that ran at the opening. */
  readonly migrations: readonly string[];
  /** Records the last commit outside an SQLite database; undefined for a PostgreSQL. */
  readonly mark: CommitMark | undefined;
  /** The files of an SQLite database; undefined for a PostgreSQL. */
  readonly files: OpenDatabaseFiles | undefined;
  readonly #lock: DatabaseLock | undefined;

  private constructor(knex: Knex, migrations: readonly string[], guard: Guard | undefined) {
    this.knex = knex;
    this.migrations = migrations;
    this.mark = guard?.mark;
    this.files = guard?.files;
    this.#lock = guard?.lock;
  }

  /**
   * Opens the database and brings its schema up to date. With `isChecked`, all of an SQLite database is read first.
   * @throws DatabaseLostError if it is damaged or lacks acknowledged commits.
   * @throws StoreUnavailableError if it cannot be reached, is locked, or is being restored.
   */
  static async open(
    databaseUrl: string,
    { isChecked = false, ...options }: OpenOptions & { readonly isChecked?: boolean } = {},
  ): Promise<Database> {
    const file = databaseFileOf(databaseUrl);
    if (file === undefined) {
      const knex = openDatabase(databaseUrl, options);
      return new Database(knex, await orClose(knex, () => migrateDatabase(knex)), undefined);
    }
    const mark = new CommitMark(file);
    refuseWithoutFile(file, mark);
    // The lock's file needs the directory that is created with the database's.
    const knex = openDatabase(databaseUrl, options);
    let lock: DatabaseLock | undefined;
    const migrations = await orClose(knex, async () => {
      lock = await DatabaseLock.share(file);
      await refuseLost(knex, file, mark, isChecked);
      return migrateDatabase(knex);
    }).catch(async (error: unknown) => {
      await lock?.release();
      throw asLostWhereDamaged(file, error);
    });
    if (lock === undefined) throw new Error('the database was opened without its lock');
    const database = new Database(knex, migrations, { lock, mark, files: new OpenDatabaseFiles(file) });
    await database.notePosition();
    return database;
  }

  /** Reads the present position and notes it in the mark. */
  async notePosition(): Promise<void> {
    this.mark?.note(await positionIn(this.knex));
  }

  async close(): Promise<void> {
    await this.knex.destroy();
    this.mark?.close();
    await this.#lock?.release();
  }
}

async function orClose<T>(knex: Knex, work: () => Promise<T>): Promise<T> {
  try {
    return await orUnavailable(work);
  } catch (error) {
    await knex.destroy();
    throw error;
  }
}

/** SQLite's own error is inside the errors that wrap it. */
export function isDamage(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  return DAMAGED.has(code) || isDamage(error.cause);
}

function asLostWhereDamaged(file: string, error: unknown): unknown {
  return isDamage(error) ? new DatabaseLostError(`${file} is damaged: ${error.message}. ${WAYS_OUT}`) : error;
}

/** The result of `work` on the database in `file`. @throws DatabaseLostError if SQLite finds it damaged. */
export async function lostWhereDamaged<T>(file: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw asLostWhereDamaged(file, error);
  }
}

/** @throws DatabaseLostError if a database with acknowledged writes was there, and is missing. */
export function refuseWithoutFile(file: string, mark: CommitMark): void {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size > 0 || mark.read() === undefined) return;
  throw new DatabaseLostError(
    `${file} is gone, though a database with acknowledged writes was there (${mark.file}). ${WAYS_OUT}`,
  );
}

/** @throws DatabaseLostError if the database lacks acknowledged commits or, with `isChecked`, is damaged. */
export async function refuseLost(
  knex: Knex,
  file: string,
  mark: CommitMark,
  isChecked: boolean,
): Promise<void> {
  // The order matters: while another service writes, the database is never behind a mark that was read before it.
  const marked = mark.read();
  if (marked !== undefined) refuseBehind(await positionIfAny(knex), marked, file, mark.file);
  const problem = isChecked ? await integrityProblem(knex) : undefined;
  if (problem !== undefined) throw new DatabaseLostError(`${file} is damaged: ${problem}. ${WAYS_OUT}`);
}

/** undefined for a database of a version that did not count commits. */
async function positionIfAny(knex: Knex): Promise<Position | undefined> {
  const counts = await knex.schema.hasColumn('owner', 'commits');
  return counts ? positionIn(knex) : undefined;
}

function refuseBehind(found: Position | undefined, marked: Position, file: string, markFile: string): void {
  if (found === undefined || found.databaseId !== marked.databaseId)
    throw new DatabaseLostError(
      `${file} is not the database that was here before, or a copy of it from before an upgrade (${markFile}). ${WAYS_OUT}`,
    );
  if (found.commits < marked.commits)
    throw new DatabaseLostError(
      `${file} lacks acknowledged writes: it ends with commit ${found.commits}, and commit ${marked.commits} was acknowledged (${markFile}). Its -wal file was lost or damaged, or an older copy was put in its place. ${WAYS_OUT}`,
    );
}

/**
 * Migrates the database at `databaseUrl` and closes it. Fails as `Database.open` does.
 * @returns the names of the migrations that ran
 */
export async function migrate(databaseUrl: string): Promise<readonly string[]> {
  const database = await Database.open(databaseUrl);
  await database.close();
  return database.migrations;
}
