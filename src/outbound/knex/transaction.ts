// Transactions whose failure is told as it happened, not as the rollback after it failed.
import type { Knex } from 'knex';
import { engineOf } from './engine.js';

/**
 * Runs `work` in one transaction and commits it; rejects with what made it fail. SQLite rolls back by itself when the
 * disk is full, and knex would then report that there was nothing left to roll back.
 */
export async function inTransaction<T>(
  knex: Knex,
  work: (trx: Knex.Transaction) => Promise<T>,
  settings?: Knex.TransactionConfig,
): Promise<T> {
  const failures: unknown[] = [];
  try {
    return await knex.transaction(async (trx) => {
      if (trx.isCompleted()) throw new Error('the transaction could not begin');
      return work(trx).catch((error: unknown) => {
        failures.push(error);
        throw error;
      });
    }, settings);
  } catch (error) {
    throw failures.length > 0 ? failures[0] : error;
  }
}

/** Runs several reads that see the database at one instant. */
export function inSnapshot<T>(knex: Knex, read: (trx: Knex.Transaction) => Promise<T>): Promise<T> {
  // A transaction of SQLite always sees one instant.
  if (engineOf(knex) === 'sqlite') return inTransaction(knex, read);
  return inTransaction(knex, read, { isolationLevel: 'repeatable read', readOnly: true });
}
