// One service at a time: each start raises the epoch, and commits of an older epoch are refused. Commits are counted.
import type { Knex } from 'knex';
import { StoreUnavailableError } from '../../ports/store.js';

/** How far a database has come. */
export interface Position {
  readonly databaseId: string;
  readonly epoch: number;
  /** Commits since the database was made. */
  readonly commits: number;
}

interface OwnerRow {
  readonly database_id: string;
  readonly epoch: number;
  readonly commits: number;
}

const COLUMNS = ['database_id', 'epoch', 'commits'];

function positionOf(row: OwnerRow | undefined): Position {
  if (row === undefined) throw new Error('the owner table has no row');
  return { databaseId: row.database_id, epoch: row.epoch, commits: row.commits };
}

export async function positionIn(knex: Knex): Promise<Position> {
  return positionOf(await knex('owner').first(COLUMNS));
}

/** Raises the epoch; under the new one its taker owns the database. */
export async function raiseEpoch(trx: Knex.Transaction): Promise<Position> {
  const raised = { epoch: trx.raw('epoch + 1'), commits: trx.raw('commits + 1') };
  const rows: OwnerRow[] = await trx('owner').update(raised).returning(COLUMNS);
  return positionOf(rows[0]);
}

export async function currentEpoch(trx: Knex.Transaction): Promise<number> {
  return (await positionIn(trx)).epoch;
}

/**
 * Counts a commit of `epoch` and refuses it where that epoch has passed; the last statement of each commit. Until it ends
 * nobody can raise the epoch, so that what a new owner reads is all that the one before it wrote.
 * @throws StoreUnavailableError
 */
export async function countCommitOf(trx: Knex.Transaction, epoch: number): Promise<Position> {
  const counted = { commits: trx.raw('commits + 1') };
  const rows: OwnerRow[] = await trx('owner').where({ epoch }).update(counted).returning(COLUMNS);
  if (rows.length === 0) throw new StoreUnavailableError('another service has taken over this database');
  return positionOf(rows[0]);
}

/** Counts a commit, also one of a writer that does not own the database. */
export async function countCommit(trx: Knex.Transaction): Promise<void> {
  await trx('owner').update({ commits: trx.raw('commits + 1') });
}
