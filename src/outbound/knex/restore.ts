// Replaces a database by a backup, or accepts one as it is. Afterwards chargers
// follow it, and every outstanding grant is reserved.
import { randomUUID } from 'node:crypto';
import type { Knex } from 'knex';
import { tenthsAOf } from '../../../machines/values/units.js';
import { AdministrationError } from '../../ports/administration.js';
import { StoreUnavailableError } from '../../ports/store.js';
import { makeDirectoryOf, openDatabase } from './connection.js';
import { integrityProblem, isDamage, isHeadroomDatabase, migrateDatabase } from './database.js';
import {
  CommitMark,
  copyDatabaseFile,
  exchangeDatabaseFile,
  isSameFile,
  isThere,
  removeDatabaseFile,
} from './database-files.js';
import { DatabaseLock } from './database-lock.js';
import { databaseFileOf, sqliteFileOf } from './engine.js';
import { type Position, positionIn } from './ownership.js';
import { inTransaction } from './transaction.js';
import { orUnavailable } from './unavailable.js';

/** More terms than can have been used since any backup: each start of a service begins one. */
const TERMS_SINCE_BACKUP = 1_000_000;
const ROWS_AT_ONCE = 100;

export interface Restored {
  /** Path of the replaced database; null if there was none, and on PostgreSQL. */
  readonly replaced: string | null;
  readonly epoch: { readonly before: number; readonly after: number };
  readonly tenants: number;
  /** Connectors whose maximum is reserved. */
  readonly connectors: number;
  /** The longest lease that any of them may have, ms; null if all have the service's setting. */
  readonly longestTtlMs: number | null;
  readonly profiles: number;
}

export interface RestoreOptions {
  /** The backup; undefined accepts the database as it is. */
  readonly backup: string | undefined;
  /** Changes nothing. */
  readonly isDryRun: boolean;
  /** Part of the name of the replaced database. */
  readonly stamp: string;
}

/**
 * Restores the database at `databaseUrl`. A service that starts on it has an epoch above any used one. It reserves the
 * maximum of every connector until the longest lease is over, because the backup lacks later grants.
 * @throws AdministrationError if the backup is none, or cannot be used.
 * @throws StoreUnavailableError if a service or a command uses the database, or it cannot be reached.
 */
export async function restoreDatabase(databaseUrl: string, options: RestoreOptions): Promise<Restored> {
  const file = databaseFileOf(databaseUrl);
  if (file !== undefined) return restoreFile(file, options);
  if (sqliteFileOf(databaseUrl) !== undefined)
    throw new AdministrationError('a database in memory cannot be restored');
  if (options.backup !== undefined)
    throw new AdministrationError(
      'a PostgreSQL database is restored with pg_restore; run "headroom restore --as-is" after it',
    );
  const prepared = await withDatabase(databaseUrl, (knex) => prepare(knex, undefined, options.isDryRun));
  return { ...prepared.restored, replaced: null };
}

async function restoreFile(file: string, { backup, isDryRun, stamp }: RestoreOptions): Promise<Restored> {
  if (backup !== undefined && !isThere(backup)) throw new AdministrationError(`there is no file ${backup}`);
  if (backup !== undefined && isSameFile(backup, file))
    throw new AdministrationError(`${backup} is the database itself; to take it as it is, use --as-is`);
  makeDirectoryOf(file);
  const lock = await DatabaseLock.alone(file);
  const mark = new CommitMark(file);
  const unfinished = `${file}.${randomUUID()}.unfinished`;
  try {
    await foldIn(file);
    const source = backup ?? (isThere(file) ? file : undefined);
    if (source !== undefined) copyDatabaseFile(source, unfinished);
    const { restored, position } = await withDatabase(`sqlite:${unfinished}`, async (knex) => {
      if (source !== undefined) await refuseUnusable(knex, source);
      return prepare(knex, mark.read(), false);
    }).catch((error: unknown) => {
      throw isDamage(error) && source !== undefined ? unusable(source, error.message) : error;
    });
    if (isDryRun) return { ...restored, replaced: null };
    const replaced = exchangeDatabaseFile(file, unfinished, `${file}.replaced-${stamp}`);
    mark.note(position);
    return { ...restored, replaced };
  } finally {
    removeDatabaseFile(unfinished);
    mark.close();
    await lock.release();
  }
}

async function withDatabase<T>(databaseUrl: string, use: (knex: Knex) => Promise<T>): Promise<T> {
  const knex = openDatabase(databaseUrl);
  try {
    const result = await orUnavailable(() => use(knex));
    // The file must be complete without its -wal file. The next process that opens it switches back to WAL mode.
    if (databaseFileOf(databaseUrl) !== undefined) await knex.raw('pragma journal_mode = delete');
    return result;
  } finally {
    await knex.destroy();
  }
}

/**
 * Merges the -wal file into the database, so that the kept copy is one file. This needs the database alone, also
 * without programs that hold no lock of ours. A damaged one stays as it is.
 */
async function foldIn(file: string): Promise<void> {
  if (!isThere(file)) return;
  const knex = openDatabase(`sqlite:${file}`);
  try {
    await knex.raw('pragma journal_mode = delete');
  } catch (error) {
    if (isDamage(error)) return;
    if (error instanceof Error && 'code' in error && error.code === 'SQLITE_BUSY')
      throw new StoreUnavailableError(
        `${file} is in use: stop the service, and any other program on it, first`,
      );
    throw error;
  } finally {
    await knex.destroy();
  }
}

function unusable(file: string, problem: string): AdministrationError {
  return new AdministrationError(`${file} is damaged and cannot be used: ${problem}`);
}

async function refuseUnusable(knex: Knex, file: string): Promise<void> {
  if (!(await isHeadroomDatabase(knex)))
    throw new AdministrationError(`${file} is not a database of Headroom`);
  const problem = await integrityProblem(knex, { isPowerChecked: true });
  if (problem !== undefined) throw unusable(file, problem);
}

/** Brings the schema up to date, begins a new term, and reserves every connector's maximum; all of it or nothing. */
async function prepare(
  knex: Knex,
  marked: Position | undefined,
  isDryRun: boolean,
): Promise<{ readonly restored: Omit<Restored, 'replaced'>; readonly position: Position }> {
  const undone = new Error('nothing is to be kept');
  let prepared: Awaited<ReturnType<typeof prepare>> | undefined;
  await inTransaction(knex, async (trx) => {
    await migrateDatabase(trx);
    const before = await positionIn(trx);
    const position = {
      // The database keeps its id, so that an older copy that is put back later is recognized as older.
      databaseId: marked?.databaseId ?? before.databaseId,
      ownerTerm: Math.max(before.ownerTerm, marked?.ownerTerm ?? 0) + TERMS_SINCE_BACKUP,
      commits: Math.max(before.commits, marked?.commits ?? 0) + 1,
    };
    await trx('owner').update({
      database_id: position.databaseId,
      epoch: position.ownerTerm,
      commits: position.commits,
    });
    const restored = {
      epoch: { before: before.ownerTerm, after: position.ownerTerm },
      tenants: await countOf(trx, 'tenants'),
      ...(await reserveMaxima(trx)),
      profiles: await countOf(trx, 'profiles'),
    };
    prepared = { restored, position };
    if (isDryRun) throw undone;
  }).catch((error: unknown) => {
    if (error !== undone) throw error;
  });
  if (prepared === undefined) throw new Error('the transaction did not run');
  return prepared;
}

async function countOf(trx: Knex.Transaction, table: string): Promise<number> {
  const row = await trx(table).count({ count: '*' }).first();
  return Number(row?.count ?? 0);
}

interface ConnectorRow {
  readonly tenant_uuid: string;
  readonly controller_uuid: string;
  readonly connector_id: string;
  readonly max_current_a: number;
  readonly failsafe_a: number;
  readonly lease: string | null;
  readonly ttl_ms: number | null;
  readonly lease_ttl_ms: number | null;
}

/**
 * The last grant of each connector is unknown. So its maximum is reserved, and its fail-safe after
 * that. The way in which its charger counts leases rarely changes. A connector without a
 * reservation so far counts as one that ends leases in time.
 */
async function reserveMaxima(trx: Knex.Transaction): Promise<Pick<Restored, 'connectors' | 'longestTtlMs'>> {
  const connectors: ConnectorRow[] = await trx('connectors as c')
    .leftJoin('reservations as r', {
      'r.tenant_uuid': 'c.tenant_uuid',
      'r.controller_uuid': 'c.controller_uuid',
      'r.connector_id': 'c.connector_id',
    })
    .leftJoin('chargers as h', { 'h.tenant_uuid': 'c.tenant_uuid', 'h.controller_uuid': 'c.controller_uuid' })
    .select(
      'c.tenant_uuid',
      'c.controller_uuid',
      'c.connector_id',
      'c.max_current_a',
      'c.failsafe_a',
      'r.lease',
      'r.ttl_ms',
      'h.lease_ttl_ms',
    );
  await trx('reservations').delete();
  const rows = connectors.map(({ max_current_a, failsafe_a, lease, ttl_ms, lease_ttl_ms, ...key }) => ({
    ...key,
    limit_tenths_a: tenthsAOf(max_current_a),
    then_tenths_a: tenthsAOf(failsafe_a),
    lease: lease ?? 'heartbeat',
    ttl_ms: Math.max(ttl_ms ?? 0, lease_ttl_ms ?? 0) || null,
  }));
  for (let at = 0; at < rows.length; at += ROWS_AT_ONCE)
    await trx('reservations').insert(rows.slice(at, at + ROWS_AT_ONCE));
  const longestTtlMs = rows.reduce((longestMs, { ttl_ms }) => Math.max(longestMs, ttl_ms ?? 0), 0);
  return { connectors: rows.length, longestTtlMs: longestTtlMs || null };
}
