// One service at a time: whoever starts raises the epoch, and commits of an older epoch are refused.
import type { Knex } from 'knex';
import { StoreUnavailableError } from '../../ports/store.js';
import { engineOf } from './engine.js';

/** Raises the epoch and gives the new one, under which its taker owns the database. */
export async function raiseEpoch(trx: Knex.Transaction): Promise<number> {
  await trx('owner').increment('epoch', 1);
  return currentEpoch(trx);
}

export async function currentEpoch(trx: Knex.Transaction): Promise<number> {
  const row: { epoch: number } | undefined = await trx('owner').first('epoch');
  if (row === undefined) throw new Error('the owner table has no row');
  return row.epoch;
}

/**
 * Refuses a commit of an epoch that has passed; the last statement of each commit. Until it ends nobody can raise the
 * epoch, so that what a new owner reads is all that the one before it wrote.
 * @throws StoreUnavailableError
 */
export async function requireEpoch(trx: Knex.Transaction, epoch: number): Promise<void> {
  if (engineOf(trx) === 'postgres') await trx.raw('select 1 from owner for share');
  if ((await currentEpoch(trx)) !== epoch) {
    throw new StoreUnavailableError('another service has taken over this database');
  }
}
