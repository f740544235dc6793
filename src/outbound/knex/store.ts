// The durable truth on SQLite or PostgreSQL: the Store port over one database.
import type { Knex } from 'knex';
import type { TenantUuid } from '../../../machines/values/ids.js';
import type { EpochMs } from '../../../machines/values/time.js';
import type { Metrics } from '../../metrics.js';
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import type { TenantState } from '../../ports/records.js';
import { type Store, StoreUnavailableError } from '../../ports/store.js';
import { createRareLog } from '../../rare-log.js';
import { listAlarms, loadOpenAlarms } from './alarms.js';
import { writeChanges } from './changes.js';
import { loadClusters } from './clusters.js';
import { loadCredentials } from './credentials.js';
import { Database } from './database.js';
import { createJournal } from './journal.js';
import { loadOperatorEvents, operatorEvents } from './operator-limits.js';
import { countCommit, countCommitOf, currentEpoch, type Position, raiseEpoch } from './ownership.js';
import { permanentLimitHistory } from './permanent-limits.js';
import { forgetSomePower, powerHistory } from './power-minutes.js';
import { loadProfiles, profileHistory, profilesAt } from './profiles.js';
import { loadReservations } from './reservations.js';
import { revisionSince } from './revisions.js';
import { loadLocations } from './sites.js';
import { awaitWriters } from './tenant-lock.js';
import { inSnapshot, inTransaction } from './transaction.js';
import { orUnavailable } from './unavailable.js';

// A disk that is nearly full may take next to nothing and refuse what callers write.
const REFUSED_LATELY_MS = 5000;

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
 * Opens the database, reads all of it where it is SQLite's, and brings its schema up to date.
 * @throws StoreUnavailableError when it cannot be reached or is locked.
 * @throws DatabaseLostError when it is damaged or lacks what was acknowledged.
 */
export async function createStore(options: StoreOptions): Promise<Store> {
  const { databaseUrl, log } = options;
  const database = await Database.open(databaseUrl, { log, isChecked: true });
  const { knex, migrations } = database;
  if (migrations.length > 0) log.info({ migrations }, 'database schema brought up to date');
  return storeOver(knex, { ...options, database });
}

/** A store over a database that is open and migrated; closing it closes the database. */
export function storeOver(
  knex: Knex,
  options: Omit<StoreOptions, 'databaseUrl' | 'log'> & { readonly log?: Log; readonly database?: Database },
): Store {
  const { database } = options;
  const rareLog = createRareLog(options.clock);
  let epoch: number | undefined;
  const journal = createJournal({
    async write(submissions) {
      const position = await inTransaction(knex, async (trx) => {
        await writeChanges(trx, submissions);
        return epoch === undefined ? undefined : countCommitOf(trx, epoch);
      });
      note(position);
    },
    clock: options.clock,
    metrics: options.metrics,
    ...options.journal,
  });
  let closed: Promise<void> | undefined;

  /** What is on disk is acknowledged all the same where this cannot be written: then a later loss is not noticed. */
  function note(position: Position | undefined): void {
    if (position === undefined) return;
    try {
      database?.noteCommit(position);
    } catch (error) {
      rareLog('commit mark', () => options.log?.warn({ err: error }, 'the last commit could not be noted'));
    }
  }

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
      operatorEvents: await loadOperatorEvents(trx, tenantUuid),
    }));
  }

  async function forgetPowerBefore(beforeMs: EpochMs): Promise<void> {
    const forgetSome = () => inTransaction(knex, (trx) => forgetSomePower(trx, beforeMs));
    // In turns with the writers, who would otherwise wait until all is forgotten.
    while (!(await journal.exclusively(() => orUnavailable(forgetSome))));
  }

  return {
    async claim() {
      const position = await orUnavailable(() => inTransaction(knex, raiseEpoch));
      note(position);
      database?.flushMark();
      epoch = position.epoch;
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
    operatorEvents: (tenantUuid, locationId, window, page) =>
      ask((trx) => operatorEvents(trx, tenantUuid, locationId, window, page)),
    powerHistory: (tenantUuid, locationId, window, stepMs) =>
      ask((trx) => powerHistory(trx, tenantUuid, locationId, window, stepMs)),
    forgetPowerBefore,
    loadCredentials: () => ask(loadCredentials),
    revisionSince: (since) => ask((trx) => revisionSince(trx, since)),
    async ping() {
      await journal.exclusively(() => orUnavailable(() => inTransaction(knex, countCommit)));
      if ((journal.refusedForMs() ?? REFUSED_LATELY_MS) < REFUSED_LATELY_MS)
        throw new StoreUnavailableError('the database refused a write a moment ago');
    },
    close() {
      closed ??= journal.close().then(() => (database ?? { close: () => knex.destroy() }).close());
      return closed;
    },
  };
}
