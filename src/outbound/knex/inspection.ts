// Inspects a database that is in use: reads all of it and writes nothing, not
// even the files that SQLite puts beside an open one.
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Knex } from 'knex';
import type { Database as SqliteConnection } from 'sqlite3';
import type { TenantUuid } from '../../../machines/values/ids.js';
import type { Clock } from '../../ports/clock.js';
import type { LocationRecord } from '../../ports/records.js';
import { StoreUnavailableError } from '../../ports/store.js';
import { createClient, openDatabase, sessionNameOf } from './connection.js';
import { isHeadroomDatabase, lostWhereDamaged, refuseLost, refuseWithoutFile } from './database.js';
import { CommitMark, isThere } from './database-files.js';
import { databaseFileOf, type Engine, engineOf } from './engine.js';
import { MIGRATIONS, MIGRATIONS_TABLE } from './migrations.js';
import { loadLocations } from './sites.js';
import { inSnapshot } from './transaction.js';
import { orUnavailable } from './unavailable.js';

/** The owner of a database by its own rows. */
export interface SeenOwner {
  readonly ownerTerm: number;
  readonly nodeUrl: string | undefined;
  /** Remaining time of its lease, below 0 after its end; undefined without a lease. */
  readonly leaseLeftMs: number | undefined;
  /** Connection state of an owner without a lease; undefined if the database does not report it, as SQLite. */
  readonly isConnected: boolean | undefined;
  readonly isVacant: boolean;
}

/** Versions of the schema by name. */
export interface SeenSchema {
  /** In this version, and not in the database. */
  readonly missing: readonly string[];
  /** In the database, and unknown to this version. */
  readonly unknown: readonly string[];
}

/** Durability settings of a PostgreSQL. */
export interface SeenServer {
  readonly isReplica: boolean;
  readonly flushes: boolean;
  /** Replicas that may lack acknowledged commits. */
  readonly asynchronousReplicas: number;
}

export interface SeenLocation {
  readonly tenantUuid: TenantUuid;
  readonly location: LocationRecord;
}

/** A database file cannot be read without a change beside it. */
export class UnreadableWithoutWritingError extends Error {}

const LOCK_TIMEOUT_MS = 2000;

export class Inspection {
  readonly #knex: Knex;
  readonly #file: string | undefined;

  private constructor(knex: Knex, file: string | undefined) {
    this.#knex = knex;
    this.#file = file;
  }

  /**
   * Resolves to undefined without a database: the first start creates it.
   * @throws DatabaseLostError if there was one.
   * @throws UnreadableWithoutWritingError
   * @throws StoreUnavailableError if it cannot be reached, or is not Headroom's.
   */
  static async open(databaseUrl: string): Promise<Inspection | undefined> {
    const file = databaseFileOf(databaseUrl);
    if (file !== undefined) {
      refuseWithoutFile(file, new CommitMark(file));
      if (!isThere(file)) return undefined;
    }
    const knex = file === undefined ? openDatabase(databaseUrl, { connections: 2 }) : openUnchanged(file);
    const inspection = new Inspection(knex, file);
    try {
      const isOurs = await inspection.#ask(() => isOurDatabase(knex));
      if (isOurs === undefined) {
        await inspection.close();
        return undefined;
      }
      if (!isOurs) throw new StoreUnavailableError('the database holds other data: Headroom did not make it');
      return inspection;
    } catch (error) {
      await inspection.close();
      throw error;
    }
  }

  get engine(): Engine {
    return engineOf(this.#knex);
  }

  /** Round trip of one query in ms, the shortest of five. */
  async roundTripMs(clock: Clock): Promise<number> {
    let shortestMs = Number.POSITIVE_INFINITY;
    for (let i = 0; i < 5; i++) {
      const askedAtMs = clock.monotonicMs();
      await this.#ask(() => this.#knex.raw('select 1'));
      shortestMs = Math.min(shortestMs, clock.monotonicMs() - askedAtMs);
    }
    return shortestMs;
  }

  async schema(): Promise<SeenSchema> {
    const known = (await MIGRATIONS.getMigrations([])).map((each) => MIGRATIONS.getMigrationName(each));
    const rows: { name: string }[] = await this.#ask(() => this.#knex(MIGRATIONS_TABLE).select('name'));
    const there = rows.map(({ name }) => name);
    return {
      missing: known.filter((name) => !there.includes(name)),
      unknown: there.filter((name) => !known.includes(name)),
    };
  }

  /**
   * Reads all of an SQLite database. PostgreSQL notices damage itself.
   * @throws DatabaseLostError if it is damaged or lacks acknowledged commits.
   */
  async checkWhole(): Promise<void> {
    const file = this.#file;
    if (file !== undefined) await this.#ask(() => refuseLost(this.#knex, file, new CommitMark(file), true));
  }

  /** Needs a schema that is up to date. */
  async owner(): Promise<SeenOwner> {
    const now = this.#databaseNow();
    const columns = ['epoch', 'node_id', 'node_url', 'alive_until_ms', { now_ms: now }] as const;
    const row: OwnerRow = await this.#ask(() => this.#knex('owner').first(...columns));
    const { epoch, node_id, node_url, alive_until_ms, now_ms } = row;
    const leaseLeftMs = alive_until_ms === null ? undefined : alive_until_ms - now_ms;
    const isConnected =
      node_id === null || leaseLeftMs !== undefined ? undefined : await this.#isConnected(node_id);
    return {
      ownerTerm: epoch,
      nodeUrl: node_url ?? undefined,
      leaseLeftMs,
      isConnected,
      isVacant: node_id === null || (leaseLeftMs ?? 1) <= 0 || isConnected === false,
    };
  }

  /** Least ms by which the database's clock is ahead of `clock`; undefined for SQLite, which has no clock. */
  async clockAheadMs(clock: Clock): Promise<number | undefined> {
    if (this.engine === 'sqlite') return undefined;
    await this.#ask(() => this.#knex.raw('select 1'));
    const fromMs = clock.nowMs();
    const row: OwnerRow = await this.#ask(() => this.#knex('owner').first({ now_ms: this.#databaseNow() }));
    const untilMs = clock.nowMs();
    // The delay of the answer does not count.
    return row.now_ms > untilMs ? row.now_ms - untilMs : Math.min(0, row.now_ms - fromMs);
  }

  /** undefined for SQLite. */
  async server(): Promise<SeenServer | undefined> {
    if (this.engine === 'sqlite') return undefined;
    const { rows }: { rows: { replica: boolean; fsync: string; replicas: number }[] } = await this.#ask(() =>
      this.#knex.raw(`select pg_is_in_recovery() as replica, current_setting('fsync') as fsync,
        (select count(*) from pg_stat_replication where sync_state = 'async') as replicas`),
    );
    const [row] = rows;
    return {
      isReplica: row?.replica === true,
      flushes: row?.fsync === 'on',
      asynchronousReplicas: Number(row?.replicas ?? 0),
    };
  }

  /** Of all tenants. Needs a schema that is up to date. */
  async locations(): Promise<readonly SeenLocation[]> {
    return this.#ask(() =>
      inSnapshot(this.#knex, async (trx) => {
        const tenants: { tenant_uuid: TenantUuid }[] = await trx('tenants')
          .select('tenant_uuid')
          .orderBy('name');
        const found: SeenLocation[] = [];
        for (const { tenant_uuid: tenantUuid } of tenants)
          for (const location of await loadLocations(trx, tenantUuid)) found.push({ tenantUuid, location });
        return found;
      }),
    );
  }

  async close(): Promise<void> {
    await this.#knex.destroy();
  }

  #databaseNow(): Knex.Raw {
    return this.#knex.raw(
      this.engine === 'sqlite'
        ? "cast((julianday('now') - 2440587.5) * 86400000 as integer)"
        : '(extract(epoch from clock_timestamp()) * 1000)::bigint',
    );
  }

  async #isConnected(nodeId: string): Promise<boolean | undefined> {
    if (this.engine === 'sqlite') return undefined;
    const sessions: unknown[] = await this.#ask(() =>
      this.#knex('pg_stat_activity')
        .where({ application_name: sessionNameOf(nodeId) })
        .whereRaw('datname = current_database()')
        .select('pid')
        .limit(1),
    );
    return sessions.length > 0;
  }

  /** @throws DatabaseLostError, StoreUnavailableError */
  #ask<T>(question: () => PromiseLike<T>): Promise<T> {
    const file = this.#file;
    return orUnavailable(() =>
      file === undefined ? question() : lostWhereDamaged(file, async () => question()),
    );
  }
}

interface OwnerRow {
  readonly epoch: number;
  readonly node_id: string | null;
  readonly node_url: string | null;
  readonly alive_until_ms: number | null;
  readonly now_ms: number;
}

/** undefined for an empty database. */
async function isOurDatabase(knex: Knex): Promise<boolean | undefined> {
  if (engineOf(knex) === 'sqlite') {
    const tables: unknown[] = await knex('sqlite_master').limit(1);
    return tables.length === 0 ? undefined : isHeadroomDatabase(knex);
  }
  const hasOurs = await knex.schema.hasTable('owner');
  return hasOurs ? true : undefined;
}

/**
 * A file that a process has open has a -shm file beside it, and is read like any other. Otherwise
 * SQLite would create that file for the user of this process. A service of another user could not use
 * it. So a file that is not open is read as it is.
 * @throws UnreadableWithoutWritingError if only SQLite can join the database and its -wal file.
 */
function openUnchanged(file: string): Knex {
  const isOpen = existsSync(`${file}-shm`);
  if (!isOpen && isThere(`${file}-wal`))
    throw new UnreadableWithoutWritingError(
      `${file} has a -wal file and no -shm file, as after a copy: the next start puts both together`,
    );
  const filename = `${pathToFileURL(resolve(file)).href}?mode=ro${isOpen ? '' : '&immutable=1'}`;
  return createClient({
    client: 'sqlite3',
    connection: { filename, flags: ['OPEN_URI'] },
    useNullAsDefault: true,
    pool: {
      min: 1,
      max: 1,
      afterCreate(connection: SqliteConnection, done: (error: Error | null) => void) {
        connection.exec(`pragma busy_timeout = ${LOCK_TIMEOUT_MS}`, done);
      },
    },
    log: { warn() {}, error() {}, debug() {} },
  });
}
