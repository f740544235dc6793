// One service at a time owns the database: each start begins a new term, and commits of an older term are refused.
// Commits are counted.
import type { Knex } from 'knex';
import { StoreUnavailableError } from '../../ports/store.js';

/** How far a database has come. */
export interface Position {
  readonly databaseId: string;
  /** Numbers the owners of the database. Chargers see it as the `epoch` of their limits. */
  readonly ownerTerm: number;
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
  return { databaseId: row.database_id, ownerTerm: row.epoch, commits: row.commits };
}

export async function positionIn(knex: Knex): Promise<Position> {
  return positionOf(await knex('owner').first(COLUMNS));
}

/** Who owns a database: columns of the owner's row. */
export interface Owner {
  readonly node_id: string | null;
  readonly node_url: string | null;
  /** By the database's clock; null where it holds no lease. */
  readonly alive_until_ms: Knex.Raw | null;
}

/** Begins a new term, in which `owner` owns the database. */
export async function beginOwnerTerm(trx: Knex.Transaction, owner: Owner): Promise<Position> {
  const position = await beginOwnerTermWhere(trx, owner, () => {});
  if (position === undefined) throw new Error('the owner table has no row');
  return position;
}

/** The same only where `ownerTerm` is still the newest, and no lease lasts at `now`; undefined otherwise. */
export function beginOwnerTermIfVacant(
  trx: Knex.Transaction,
  owner: Owner,
  { ownerTerm, now }: { readonly ownerTerm: number; readonly now: Knex.Raw },
): Promise<Position | undefined> {
  return beginOwnerTermWhere(trx, owner, (query) =>
    query
      .where({ epoch: ownerTerm })
      .where((either) => either.whereNull('alive_until_ms').orWhere('alive_until_ms', '<=', now)),
  );
}

async function beginOwnerTermWhere(
  trx: Knex.Transaction,
  owner: Owner,
  narrow: (query: Knex.QueryBuilder) => void,
): Promise<Position | undefined> {
  const raised = { epoch: trx.raw('epoch + 1'), commits: trx.raw('commits + 1'), ...owner };
  const rows: OwnerRow[] = await trx('owner').modify(narrow).update(raised).returning(COLUMNS);
  return rows[0] && positionOf(rows[0]);
}

export async function currentOwnerTerm(trx: Knex.Transaction): Promise<number> {
  return (await positionIn(trx)).ownerTerm;
}

/**
 * Counts a commit of `ownerTerm` and refuses it where that term has passed; the last statement of each commit. Until it
 * ends nobody can begin another term, so that what a new owner reads is all that the one before it wrote.
 * @throws StoreUnavailableError
 */
export async function countCommitOf(trx: Knex.Transaction, ownerTerm: number): Promise<Position> {
  const counted = { commits: trx.raw('commits + 1') };
  const rows: OwnerRow[] = await trx('owner').where({ epoch: ownerTerm }).update(counted).returning(COLUMNS);
  if (rows.length === 0) throw new StoreUnavailableError('another service has taken over this database');
  return positionOf(rows[0]);
}

/** Counts a commit, also one of a writer that does not own the database. */
export async function countCommit(trx: Knex.Transaction): Promise<void> {
  await trx('owner').update({ commits: trx.raw('commits + 1') });
}
