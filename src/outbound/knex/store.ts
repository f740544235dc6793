// The durable truth on SQLite or PostgreSQL: the Store port over one database.
import type { Knex } from 'knex';
import type { TenantUuid } from '../../../machines/ids.js';
import type { EpochMs } from '../../../machines/time.js';
import type { Metrics } from '../../metrics.js';
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import type { TenantState } from '../../ports/records.js';
import { type Store, StoreUnavailableError } from '../../ports/store.js';
import { listAlarms, loadOpenAlarms } from './alarms.js';
import { writeChanges } from './changes.js';
import { loadClusters } from './clusters.js';
import { openDatabase } from './connection.js';
import { loadCredentials } from './credentials.js';
import { createJournal } from './journal.js';
import { migrateDatabase } from './migrate.js';
import { currentEpoch, raiseEpoch, requireEpoch } from './ownership.js';
import { permanentLimitHistory } from './permanent-limits.js';
import { forgetSomePower, powerHistory } from './power-minutes.js';
import { loadProfiles, profileHistory, profilesAt } from './profiles.js';
import { loadReservations } from './reservations.js';
import { revisionSince } from './revisions.js';
import { loadLocations } from './sites.js';
import { awaitWriters } from './tenant-lock.js';
import { inSnapshot, inTransaction } from './transaction.js';
import { orUnavailable } from './unavailable.js';

export interface StoreOptions {
  /** `sqlite:PATH`, `sqlite::memory:` or `postgres://…`. */
  readonly databaseUrl: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly journal?: {
    /** Callers that may share one commit, 500 if left out. */
    readonly maxBatch?: number;
    /** Callers that may wait for a commit, 10,000 if left out. */
    readonly maxPending?: number;
  };
}

/**
 * Opens the database and brings its schema up to date.
 * @throws StoreUnavailableError when it cannot be reached or is locked.
 */
export async function createStore(options: StoreOptions): Promise<Store> {
  const { databaseUrl, log } = options;
  const knex = openDatabase(databaseUrl, log);
  try {
    const migrations = await orUnavailable(() => migrateDatabase(knex));
    if (migrations.length > 0) log.info({ migrations }, 'database schema brought up to date');
  } catch (error) {
    await knex.destroy();
    throw error;
  }
  return storeOver(knex, options);
}

/** A store over a database that is open and migrated; closing it closes the database. */
export function storeOver(knex: Knex, options: Omit<StoreOptions, 'databaseUrl' | 'log'>): Store {
  let epoch: number | undefined;
  const journal = createJournal({
    write: (submissions) =>
      inTransaction(knex, async (trx) => {
        await writeChanges(trx, submissions);
        if (epoch !== undefined) await requireEpoch(trx, epoch);
      }),
    clock: options.clock,
    metrics: options.metrics,
    ...options.journal,
  });
  let closed: Promise<void> | undefined;

  async function ask<T>(question: (trx: Knex.Transaction) => Promise<T>): Promise<T> {
    if (closed !== undefined) throw new StoreUnavailableError('the database is being closed');
    return orUnavailable(() => inSnapshot(knex, question));
  }

  async function loadTenant(tenantUuid: TenantUuid): Promise<TenantState> {
    await awaitWriters(knex, tenantUuid);
    return inSnapshot(knex, async (trx) => ({
      locations: await loadLocations(trx, tenantUuid),
      clusters: await loadClusters(trx, tenantUuid),
      profiles: await loadProfiles(trx, tenantUuid),
      reservations: await loadReservations(trx, tenantUuid),
      openAlarms: await loadOpenAlarms(trx, tenantUuid),
    }));
  }

  async function forgetPowerBefore(beforeMs: EpochMs): Promise<void> {
    const forgetSome = () => inTransaction(knex, (trx) => forgetSomePower(trx, beforeMs));
    // In turns with the writers, who would otherwise wait until all is forgotten.
    while (!(await journal.exclusively(() => orUnavailable(forgetSome))));
  }

  return {
    async claim() {
      epoch = await orUnavailable(() => inTransaction(knex, raiseEpoch));
      return epoch;
    },
    isOwner: () => ask(async (trx) => epoch === undefined || (await currentEpoch(trx)) === epoch),
    append: (tenantUuid, changes) => journal.append({ tenantUuid, changes }),
    loadTenant: (tenantUuid) => journal.exclusively(() => orUnavailable(() => loadTenant(tenantUuid))),
    profileHistory: (tenantUuid, target, window, page) =>
      ask((trx) => profileHistory(trx, tenantUuid, target, window, page)),
    profilesAt: (tenantUuid, target, atMs) => ask((trx) => profilesAt(trx, tenantUuid, target, atMs)),
    permanentLimitHistory: (tenantUuid, locationId, window, page) =>
      ask((trx) => permanentLimitHistory(trx, tenantUuid, locationId, window, page)),
    alarms: (tenantUuid, filter) => ask((trx) => listAlarms(trx, tenantUuid, filter)),
    powerHistory: (tenantUuid, locationId, window, stepMs) =>
      ask((trx) => powerHistory(trx, tenantUuid, locationId, window, stepMs)),
    forgetPowerBefore,
    loadCredentials: () => ask(loadCredentials),
    revisionSince: (since) => ask((trx) => revisionSince(trx, since)),
    ping: () => ask(async (trx) => void (await revisionSince(trx, undefined))),
    close() {
      closed ??= journal.close().then(() => knex.destroy());
      return closed;
    },
  };
}
