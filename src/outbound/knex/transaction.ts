// Transactions that always end in time, report their commit truthfully, and write to a tenant one after another.
import { Socket } from 'node:net';
import type { Knex } from 'knex';
import type pg from 'pg';
import type { TenantUuid } from '../../../machines/values/ids.js';
import { StoreUnavailableError } from '../../ports/store.js';
import { engineOf } from './engine.js';
import { isConflict, mayHaveCommitted } from './unavailable.js';

const ATTEMPTS = 3;
// Longer than a statement may take (see connection.ts): a server that is silent for this long no longer answers.
const SILENT_AT_MOST_MS = 7000;

/**
 * Runs `work` in one transaction and commits it. It rejects with the failure, and with a StoreUnavailableError of
 * unknown outcome for a failed commit. `work` runs again if another process changed the same rows meanwhile.
 */
export async function inTransaction<T>(
  knex: Knex,
  work: (trx: Knex.Transaction) => Promise<T>,
  // Each statement reads all earlier commits, also that of the transaction for which it had to wait.
  settings: Knex.TransactionConfig = isolatedAs(knex, 'read committed'),
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await runOnce(knex, work, settings);
    } catch (error) {
      if (!isConflict(error) || attempt === ATTEMPTS) throw error;
    }
  }
}

/** Runs several reads on the state of one instant. */
export function inSnapshot<T>(knex: Knex, read: (trx: Knex.Transaction) => Promise<T>): Promise<T> {
  return inTransaction(knex, read, isolatedAs(knex, 'repeatable read', true));
}

/** An SQLite transaction always reads one instant and has no settings. */
function isolatedAs(
  knex: Knex,
  isolationLevel: Knex.IsolationLevels,
  readOnly = false,
): Knex.TransactionConfig {
  return engineOf(knex) === 'sqlite' ? {} : { isolationLevel, readOnly };
}

async function runOnce<T>(
  knex: Knex,
  work: (trx: Knex.Transaction) => Promise<T>,
  settings: Knex.TransactionConfig,
): Promise<T> {
  // SQLite rolls back by itself when the disk is full. knex would then report that there was nothing to roll back.
  const failures: unknown[] = [];
  let isCommitting = false;
  return overConnection(knex, async (connection) => {
    try {
      return await knex.transaction(
        async (trx) => {
          if (trx.isCompleted()) throw new Error('the transaction could not begin');
          const result = await work(trx).catch((error: unknown) => {
            failures.push(error);
            throw error;
          });
          isCommitting = true;
          return result;
        },
        { ...settings, connection },
      );
    } catch (error) {
      if (!isCommitting) throw failures.length > 0 ? failures[0] : error;
      // A commit that could not get its lock leaves the transaction open, and the connection of no use to others.
      await knex
        .raw('rollback')
        .connection(connection)
        .catch(() => {});
      if (!mayHaveCommitted(error)) throw error;
      throw new StoreUnavailableError('the database did not confirm its commit', {
        cause: error,
        isOutcomeUnknown: true,
      });
    }
  });
}

/** Runs `work` over one connection, which is closed if the server does not answer. */
export async function overConnection<T>(
  knex: Knex,
  work: (connection: unknown) => PromiseLike<T>,
): Promise<T> {
  const connection: unknown = await knex.client.acquireConnection();
  const stopWaiting = engineOf(knex) === 'sqlite' ? () => {} : hangUpWhenSilent(connection as pg.Client);
  try {
    return await work(connection);
  } finally {
    stopWaiting();
    await knex.client.releaseConnection(connection);
  }
}

/** Closes the connection to a PostgreSQL that no longer answers: only the client can notice that. */
function hangUpWhenSilent({ connection: { stream } }: pg.Client): () => void {
  if (!(stream instanceof Socket)) return () => {};
  const hangUp = () => stream.destroy();
  stream.setTimeout(SILENT_AT_MOST_MS, hangUp);
  return () => stream.setTimeout(0, hangUp);
}

// In the order of the keys, so that two transactions with several keys never wait for each other.
const LOCK = `select pg_advisory_xact_lock(key) from (
  select distinct hashtextextended(tenant_uuid, 0) as key from unnest(?::text[]) as tenant_uuid order by key
) as keys`;

/**
 * Waits for other writers of these tenants, and keeps them out until the transaction ends. It is the
 * first statement, so that later ones read all earlier writes. Without it, two transactions that find the
 * same holder of a slot would both insert theirs.
 */
export async function lockTenants(trx: Knex.Transaction, tenantUuids: readonly TenantUuid[]): Promise<void> {
  if (engineOf(trx) === 'postgres') await trx.raw(LOCK, [[...new Set(tenantUuids)]]);
}

/**
 * Resolves when no transaction writes to the tenant: not even one whose connection broke
 * during its commit, and which may land much later.
 */
export async function awaitWriters(knex: Knex, tenantUuid: TenantUuid): Promise<void> {
  if (engineOf(knex) === 'postgres') await inTransaction(knex, (trx) => lockTenants(trx, [tenantUuid]));
}
