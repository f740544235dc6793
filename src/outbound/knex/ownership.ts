// One service at a time owns the database, or a shard of it. Each claim begins a new ownership term, and commits of
// an older term are refused. Commits are counted.
import type { Knex } from 'knex';
import { StoreUnavailableError } from '../../ports/store.js';
import { engineOf } from './engine.js';
import { inTransaction } from './transaction.js';

/** The last commit of a database. */
export interface Position {
  readonly databaseId: string;
  /** Number of the ownership term. Limits carry it to the chargers as `epoch`. */
  readonly ownerTerm: number;
  /** Commits since the database was created. */
  readonly commits: number;
}

interface OwnerRow {
  readonly database_id: string;
  readonly epoch: number;
  readonly commits: number;
}

const CLAIM_LOCK_TIMEOUT_MS = 500;
const COLUMNS = ['database_id', 'epoch', 'commits'];

function positionOf(row: OwnerRow | undefined): Position {
  if (row === undefined) throw new Error('the owner table has no row');
  return { databaseId: row.database_id, ownerTerm: row.epoch, commits: row.commits };
}

export async function positionIn(knex: Knex): Promise<Position> {
  return positionOf(await knex('owner').first(COLUMNS));
}

/** Owner columns of a row, to write. */
export interface Owner {
  readonly node_id: string | null;
  readonly node_url: string | null;
  /** By the database's clock; null without a lease. */
  readonly alive_until_ms: Knex.Raw | null;
}

export const NOBODY: Owner = { node_id: null, node_url: null, alive_until_ms: null };

/** Owner columns of a row, as read. */
export interface OwnedBy {
  readonly node_id: string | null;
  readonly alive_until_ms: number | null;
}

/** A claim is refused if another node claimed since `ownerTerm`, or a lease lasts at `now`. */
export interface IfVacant {
  readonly ownerTerm: number;
  readonly now: Knex.Raw;
}

/** An ownership term that began. */
export interface Begun {
  readonly ownerTerm: number;
  /** Position of the database at that moment, if it is counted for all of it. */
  readonly position?: Position;
}

export interface Renewal {
  readonly ownerTerm: number;
  readonly aliveUntil: Knex.Raw;
  /** URL at which the owner answers; undefined before it does. */
  readonly nodeUrl: string | undefined;
}

/**
 * The row with the owner of the whole database, or of a shard of its tenants. Both take their terms from one counter.
 */
export interface OwnedRow {
  /** The owned thing in log lines and errors. */
  readonly name: string;
  row(knex: Knex): Knex.QueryBuilder;
  /**
   * Another owner of the same tenants: of any shard if this is the database, and of the database if this is a shard.
   */
  rival(knex: Knex): Promise<OwnedBy | undefined>;
  /** Begins a new term of `owner`; undefined if it is not vacant. */
  begin(knex: Knex, owner: Owner, ifVacant?: IfVacant): Promise<Begun | undefined>;
  /** Extends the lease of the term to `aliveUntil`; false if that term has passed. */
  renew(knex: Knex, renewal: Renewal): Promise<boolean>;
  /**
   * Counts a commit of `ownerTerm`, and refuses it if that term has passed; the last statement of each commit. Until
   * the transaction ends, no other term can begin. So a new owner reads all writes of the one before it.
   * @throws StoreUnavailableError
   */
  countCommitOf(trx: Knex.Transaction, ownerTerm: number): Promise<Position | undefined>;
}

export const WHOLE_DATABASE: OwnedRow = {
  name: 'the database',
  row: (knex) => knex('owner'),
  rival: (knex) =>
    knex('shards')
      .whereNotNull('alive_until_ms')
      .orderBy('alive_until_ms', 'desc')
      .first('node_id', 'alive_until_ms'),
  begin: (knex, owner, ifVacant) =>
    inClaim(knex, async (trx) => {
      const raised = { epoch: trx.raw('epoch + 1'), commits: trx.raw('commits + 1'), ...owner };
      const rows: OwnerRow[] = await trx('owner')
        .modify(
          (query) => ifVacant && query.where({ epoch: ifVacant.ownerTerm }).where(isVacantAt(ifVacant.now)),
        )
        .update(raised)
        .returning(COLUMNS);
      if (rows.length === 0) return undefined;
      const position = positionOf(rows[0]);
      // Nodes that share the tenants can commit nothing from now on.
      await trx('shards').update({ epoch: position.ownerTerm, ...NOBODY });
      return { ownerTerm: position.ownerTerm, position };
    }),
  renew: (knex, { ownerTerm, aliveUntil }) =>
    inTransaction(knex, async (trx) => {
      const own = trx('owner').where({ epoch: ownerTerm });
      return (await own.update({ alive_until_ms: aliveUntil })) > 0;
    }),
  countCommitOf: async (trx, ownerTerm) => {
    const counted = { commits: trx.raw('commits + 1') };
    const counting = trx('owner').where({ epoch: ownerTerm }).update(counted);
    const rows: OwnerRow[] = await counting.returning(COLUMNS);
    if (rows.length === 0) throw new StoreUnavailableError('another service has taken over this database');
    return positionOf(rows[0]);
  },
};

/** One transaction of a claim: it does not wait for an owner that is frozen in the middle of a commit. */
export function inClaim<T>(knex: Knex, work: (trx: Knex.Transaction) => Promise<T>): Promise<T> {
  return inTransaction(knex, async (trx) => {
    if (engineOf(trx) === 'postgres') await trx.raw(`set local lock_timeout = ${CLAIM_LOCK_TIMEOUT_MS}`);
    return work(trx);
  });
}

/** Query condition: the row is free at `now`. */
export function isVacantAt(now: Knex.Raw): (query: Knex.QueryBuilder) => void {
  return (query) => query.whereNull('alive_until_ms').orWhere('alive_until_ms', '<=', now);
}

/** Counts a commit of a writer that does not own the database. */
export async function countCommit(trx: Knex.Transaction): Promise<void> {
  await trx('owner').update({ commits: trx.raw('commits + 1') });
}
