// Opens the database behind a URL, with the settings that each connection needs for durable commits.
import { closeSync, existsSync, openSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import createKnex, { type Knex } from 'knex';
import { LRUCache } from 'lru-cache';
import type pg from 'pg';
import type { Database as SqliteConnection, Statement } from 'sqlite3';
import type { Log } from '../../ports/log.js';
import { StoreUnavailableError } from '../../ports/store.js';
import { makePrivateDirectory } from '../../private-files.js';
import { sqliteFileOf } from './engine.js';
import { MIGRATIONS, MIGRATIONS_TABLE } from './migrations.js';

/** Wait of a write for another process's. */
export const LOCK_TIMEOUT_MS = 2000;
/** Wait of a start for other processes on the same new SQLite file, one of which creates the schema. */
export const START_LOCK_TIMEOUT_MS = 10_000;
/** Divides the wait at a start. */
const SETTINGS_ATTEMPTS = 10;
const CONNECT_TIMEOUT_MS = 5000;
const STATEMENT_TIMEOUT_MS = 5000;
// A process whose connection breaks unnoticed would otherwise keep its locks for ever.
const IDLE_TRANSACTION_TIMEOUT_MS = 10_000;
const POSTGRES_CONNECTIONS = 5;

// The timeout comes first: the other settings may have to wait for another process.
const SQLITE_SETTINGS = `
  pragma busy_timeout = ${START_LOCK_TIMEOUT_MS / SETTINGS_ATTEMPTS};
  pragma journal_mode = wal;
  pragma synchronous = full;
  pragma foreign_keys = on;
  pragma journal_size_limit = 67108864;
  pragma busy_timeout = ${LOCK_TIMEOUT_MS};
`;

// A server may be configured to answer before a commit is on disk. This
// rules that out, and leaves stricter settings alone.
const POSTGRES_SETTINGS = `
  set lock_timeout = ${LOCK_TIMEOUT_MS};
  set statement_timeout = ${STATEMENT_TIMEOUT_MS};
  set idle_in_transaction_session_timeout = ${IDLE_TRANSACTION_TIMEOUT_MS};
  select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off';
`;

/** `application_name` of a node's PostgreSQL sessions; those of the command line have no node. */
export function sessionNameOf(nodeId: string | undefined): string {
  return nodeId === undefined ? 'headroom' : `headroom ${nodeId}`;
}

export interface OpenOptions {
  /** Receives knex's own warnings. */
  readonly log?: Log | undefined;
  readonly nodeId?: string | undefined;
  /** Most connections to PostgreSQL; SQLite has one. */
  readonly connections?: number;
}

/** knex settings of `sqlite:PATH`, `sqlite::memory:` or `postgres://…`. */
export function knexSettings(databaseUrl: string, options: OpenOptions = {}): Knex.Config {
  const { log } = options;
  const file = sqliteFileOf(databaseUrl);
  const engine = file === undefined ? postgresSettings(databaseUrl, options) : sqliteSettings(file);
  return {
    ...engine,
    // Errors go into logs: they contain the statement, not its data.
    compileSqlOnError: false,
    migrations: { migrationSource: MIGRATIONS, tableName: MIGRATIONS_TABLE },
    log: {
      warn: (message: string) => log?.warn({}, message),
      error: (message: string) => log?.error({}, message),
      debug: () => {},
    },
  };
}

/** Opens the database. A missing SQLite file or directory is created, readable by its owner only. */
export function openDatabase(databaseUrl: string, options: OpenOptions = {}): Knex {
  const file = sqliteFileOf(databaseUrl);
  if (file !== undefined && file !== ':memory:') makeSqliteFile(file);
  return createClient(knexSettings(databaseUrl, options));
}

/** For a driver that does not load, knex reports the command to install it. The third line has the reason. */
const NOT_LOADED = /^Knex: run\n.*\n(.*)/;

/** @throws StoreUnavailableError if the driver of SQLite cannot be loaded on this machine. */
export function createClient(config: Knex.Config): Knex {
  try {
    return createKnex(config);
  } catch (error) {
    const reason = error instanceof Error ? NOT_LOADED.exec(error.message)?.[1] : undefined;
    if (reason === undefined || config.client !== 'sqlite3') throw error;
    throw new StoreUnavailableError(
      `the driver of SQLite cannot be loaded (${reason}): compile it with npm_config_build_from_source=sqlite3 npm rebuild sqlite3`,
      { cause: error },
    );
  }
}

/** Creates a missing file and its directory, readable by its owner only. */
export function makeSqliteFile(file: string): void {
  // An existing file is not opened here: closing it would release the locks that this process holds on it.
  if (existsSync(file)) return;
  makeDirectoryOf(file);
  closeSync(openSync(file, 'a', 0o600));
}

export function makeDirectoryOf(file: string): void {
  makePrivateDirectory(dirname(file));
}

function sqliteSettings(filename: string): Knex.Config {
  return {
    client: 'sqlite3',
    connection: { filename },
    useNullAsDefault: true,
    pool: {
      // One connection, for ever: SQLite has one writer, and a database in memory lives as long as its connection.
      min: 1,
      max: 1,
      afterCreate(connection: SqliteConnection, done: (error: Error | null) => void) {
        keepStatements(connection);
        applySqliteSettings(connection, done, SETTINGS_ATTEMPTS);
      },
    },
  };
}

/** The journal and frequent reads have fewer. */
const STATEMENTS_KEPT = 100;

type TakeRows = (this: Statement, error: Error | null, rows?: unknown[]) => void;

/**
 * Compiles each repeated statement once. By default each use compiles it anew on another thread, which takes longer
 * than a small write. After a change of the schema SQLite itself compiles it again.
 */
function keepStatements(connection: SqliteConnection): void {
  const kept = new LRUCache<string, Statement>({
    max: STATEMENTS_KEPT,
    dispose: (statement) => void statement.finalize(),
  });
  // Most texts of a start come only once.
  const seen = new LRUCache<string, true>({ max: STATEMENTS_KEPT });
  const { all, close } = connection;
  Object.assign(connection, {
    all(sql: string, bindings: unknown[], take: TakeRows) {
      if (!seen.has(sql)) {
        seen.set(sql, true);
        return all.call(connection, sql, bindings, take);
      }
      const takeOrDrop: TakeRows = function (error, rows) {
        // A failed statement may hold locks until its end.
        if (error !== null) kept.delete(sql);
        take.call(this, error, rows);
      };
      const known = kept.get(sql);
      if (known !== undefined) {
        known.all(bindings, takeOrDrop);
        return connection;
      }
      connection.prepare(sql, function (this: Statement, error: Error | null) {
        if (error !== null) return take.call(this, error);
        kept.set(sql, this);
        this.all(bindings, takeOrDrop);
      });
      return connection;
    },
    close(done: (error: Error | null) => void) {
      // SQLite does not close a connection with statements.
      kept.clear();
      close.call(connection, done);
    },
  });
}

/**
 * If two processes make a new file a WAL database at once, SQLite refuses one without a wait: each would wait for the
 * other. The next attempt waits, or finds the mode set.
 */
function applySqliteSettings(
  connection: SqliteConnection,
  done: (error: Error | null) => void,
  attemptsLeft: number,
): void {
  connection.exec(SQLITE_SETTINGS, (error) => {
    const isRefused = error !== null && 'code' in error && error.code === 'SQLITE_BUSY';
    if (isRefused && attemptsLeft > 1) applySqliteSettings(connection, done, attemptsLeft - 1);
    else done(error);
  });
}

function postgresSettings(
  connectionString: string,
  { nodeId, connections = POSTGRES_CONNECTIONS }: OpenOptions,
): Knex.Config {
  // Loaded on demand: with its dependencies it takes a seventh of the start of a command on SQLite.
  const { types }: typeof pg = createRequire(import.meta.url)('pg');
  return {
    client: 'pg',
    connection: {
      connectionString,
      types: {
        // Milliseconds and counts stay far below 2^53.
        getTypeParser: (oid, format) =>
          oid === types.builtins.INT8
            ? Number
            : types.getTypeParser(oid, format === 'binary' ? 'binary' : 'text'),
      },
      application_name: sessionNameOf(nodeId),
      keepAlive: true,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    },
    pool: {
      min: 0,
      max: connections,
      afterCreate(connection: pg.Client, done: (error: Error | null) => void) {
        connection.query(POSTGRES_SETTINGS, done);
      },
    },
    acquireConnectionTimeout: CONNECT_TIMEOUT_MS,
  };
}
