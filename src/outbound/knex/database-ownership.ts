// Implements the Ownership port on the owner's row: a term for each claim, and a lease by the database's clock where nodes stand by.
import type { Knex } from 'knex';
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import { ClockDifferenceError, type Holder, NotVacantError, type Ownership } from '../../ports/ownership.js';
import { StoreUnavailableError } from '../../ports/store.js';
import { createRareLog, type RareLog } from '../../rare-log.js';
import { sessionNameOf } from './connection.js';
import { engineOf } from './engine.js';
import { beginOwnerTerm, beginOwnerTermIfVacant, currentOwnerTerm, type Position } from './ownership.js';
import { inTransaction } from './transaction.js';
import { orUnavailable } from './unavailable.js';

/** This process among the nodes of a database. */
export interface OwnNode {
  readonly nodeId: string;
  /** Where other nodes reach it; asked when it claims. */
  readonly url: () => string | undefined;
  /** How long it owns the database without renewing; undefined: until another claims it. */
  readonly leaseMs: number | undefined;
}

interface OwnershipOptions {
  readonly knex: Knex;
  readonly clock: Clock;
  /** Of the database's host, where that has no clock of its own to ask: SQLite. */
  readonly databaseClock: Clock;
  readonly log?: Log | undefined;
  readonly node: OwnNode;
  /** Told of a claim before it resolves. */
  readonly onClaimed: (position: Position) => void;
}

interface OwnerRow {
  readonly epoch: number;
  readonly node_id: string | null;
  readonly node_url: string | null;
  readonly alive_until_ms: number | null;
  /** By the database's clock. */
  readonly now_ms: number;
}

const LOOK_EVERY_MS = 250;
const CLAIM_AGAIN_AFTER_MS = 100;
/** Longer than a server keeps the transaction of a process that is gone or frozen (see connection.ts). */
const CLAIM_WITHIN_MS = 20_000;
/** A claim that waits longer for the row waits for an owner that is frozen in the middle of a commit. */
const CLAIM_LOCK_TIMEOUT_MS = 500;
const CLOCKS_APART_AT_MOST_MS = 2_000;

export class DatabaseOwnership implements Ownership {
  readonly #knex: Knex;
  readonly #clock: Clock;
  readonly #databaseClock: Clock;
  readonly #log: Log | undefined;
  readonly #rareLog: RareLog;
  readonly #node: OwnNode;
  readonly #onClaimed: (position: Position) => void;
  #ownerTerm: number | undefined;

  constructor({ knex, clock, databaseClock, log, node, onClaimed }: OwnershipOptions) {
    this.#knex = knex;
    this.#clock = clock;
    this.#databaseClock = databaseClock;
    this.#log = log;
    this.#rareLog = createRareLog(clock);
    this.#node = node;
    this.#onClaimed = onClaimed;
  }

  async awaitVacancy(signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted();
      if (await this.#isSeenVacant()) return;
      await this.#pause(LOOK_EVERY_MS, signal);
    }
  }

  async claim(): Promise<number> {
    const untilMs = this.#clock.monotonicMs() + (this.#isPostgres ? CLAIM_WITHIN_MS : 0);
    for (;;) {
      const before = await orUnavailable(() => this.#read());
      try {
        const position = await orUnavailable(() => this.#claimAfter(before));
        this.#ownerTerm = position.ownerTerm;
        this.#onClaimed(position);
        await this.#endSessionsOf(before);
        return position.ownerTerm;
      } catch (error) {
        if (!(error instanceof StoreUnavailableError) || this.#clock.monotonicMs() >= untilMs) throw error;
        this.#rareLog('claim', () => this.#log?.warn({ err: error }, 'the database is claimed once more'));
      }
      await this.#endSessionsOf(before);
      await this.#pause(CLAIM_AGAIN_AFTER_MS);
    }
  }

  async renew(): Promise<boolean> {
    const ownerTerm = this.#ownerTerm;
    if (ownerTerm === undefined) return true;
    if (this.#node.leaseMs === undefined)
      return orUnavailable(() =>
        inTransaction(this.#knex, async (trx) => (await currentOwnerTerm(trx)) === ownerTerm),
      );
    const aliveUntil = this.#inMs(this.#node.leaseMs);
    const renewed = await orUnavailable(() =>
      inTransaction(this.#knex, (trx) =>
        trx('owner').where({ epoch: ownerTerm }).update({ alive_until_ms: aliveUntil }),
      ),
    );
    return renewed > 0;
  }

  async release(): Promise<void> {
    const ownerTerm = this.#ownerTerm;
    if (ownerTerm === undefined || this.#node.leaseMs === undefined) return;
    const nobody = { node_id: null, node_url: null, alive_until_ms: null };
    await orUnavailable(() =>
      inTransaction(this.#knex, (trx) => trx('owner').where({ epoch: ownerTerm }).update(nobody)),
    );
  }

  async holder(): Promise<Holder | undefined> {
    const row = await orUnavailable(() => this.#read());
    if (row.node_id === null || (await orUnavailable(() => this.#isVacant(row)))) return undefined;
    return { nodeId: row.node_id, url: row.node_url ?? undefined };
  }

  get #isPostgres(): boolean {
    return engineOf(this.#knex) === 'postgres';
  }

  /** The database's clock, ms since 1970; SQLite has none but that of its host. */
  #inMs(delayMs: number): Knex.Raw {
    return this.#isPostgres
      ? this.#knex.raw('(extract(epoch from clock_timestamp()) * 1000)::bigint + ?', [delayMs])
      : this.#knex.raw('?', [this.#databaseClock.nowMs() + delayMs]);
  }

  async #read(): Promise<OwnerRow> {
    const columns = ['epoch', 'node_id', 'node_url', 'alive_until_ms', { now_ms: this.#inMs(0) }] as const;
    const row: OwnerRow | undefined = await this.#knex('owner').first(...columns);
    if (row === undefined) throw new Error('the owner table has no row');
    return row;
  }

  async #isSeenVacant(): Promise<boolean> {
    try {
      return await orUnavailable(async () => this.#isVacant(await this.#read()));
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      this.#rareLog('vacancy', () =>
        this.#log?.warn({ err: error }, 'the database does not say who owns it; asking again'),
      );
      return false;
    }
  }

  /** An owner without a lease owns the database for as long as it is connected to it. */
  async #isVacant({ node_id, alive_until_ms, now_ms }: OwnerRow): Promise<boolean> {
    if (node_id === null) return true;
    if (alive_until_ms !== null) return alive_until_ms <= now_ms;
    if (!this.#isPostgres) return true;
    const sessions = await this.#sessionsOf(node_id).select('pid').limit(1);
    return sessions.length === 0;
  }

  #sessionsOf(nodeId: string): Knex.QueryBuilder {
    return this.#knex('pg_stat_activity')
      .where({ application_name: sessionNameOf(nodeId) })
      .whereRaw('datname = current_database()');
  }

  /** @throws NotVacantError where another claimed or renewed since `before`, and nodes hold leases. */
  async #claimAfter(before: OwnerRow): Promise<Position> {
    const { nodeId, url, leaseMs } = this.#node;
    if (leaseMs !== undefined) {
      if (!(await this.#isVacant(before))) throw new NotVacantError('another node owns the database');
      await this.#checkClock();
    }
    return inTransaction(this.#knex, async (trx) => {
      if (this.#isPostgres) await trx.raw(`set local lock_timeout = ${CLAIM_LOCK_TIMEOUT_MS}`);
      const owner = { node_id: nodeId, node_url: url() ?? null };
      if (leaseMs === undefined) return beginOwnerTerm(trx, { ...owner, alive_until_ms: null });
      const position = await beginOwnerTermIfVacant(
        trx,
        { ...owner, alive_until_ms: this.#inMs(leaseMs) },
        { ownerTerm: before.epoch, now: this.#inMs(0) },
      );
      if (position === undefined) throw new NotVacantError('another node was faster');
      return position;
    });
  }

  /** The database's clock is read while this node's is: how long that took is not held against either. */
  async #checkClock(): Promise<void> {
    const fromMs = this.#clock.nowMs();
    const { now_ms } = await this.#read();
    const untilMs = this.#clock.nowMs();
    const apartMs = Math.max(now_ms - untilMs, fromMs - now_ms);
    if (apartMs > CLOCKS_APART_AT_MOST_MS)
      throw new ClockDifferenceError(
        `this node's clock and the database's differ by ${(apartMs / 1000).toFixed(1)} s, and may by ${CLOCKS_APART_AT_MOST_MS / 1000} s: synchronize both (NTP)`,
      );
  }

  /** A process that is frozen keeps its locks until its sessions end. */
  async #endSessionsOf({ node_id }: OwnerRow): Promise<void> {
    if (!this.#isPostgres || node_id === null || node_id === this.#node.nodeId) return;
    try {
      const ended = await this.#sessionsOf(node_id).select(this.#knex.raw('pg_terminate_backend(pid)'));
      if (ended.length > 0)
        this.#log?.info(
          { nodeId: node_id, sessions: ended.length },
          'ended the sessions of the owner before',
        );
    } catch (error) {
      this.#log?.warn({ err: error, nodeId: node_id }, 'the sessions of the owner before could not be ended');
    }
  }

  #pause(delayMs: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        cancel();
        signal?.removeEventListener('abort', done);
        resolve();
      };
      const cancel = this.#clock.after(delayMs, done);
      signal?.addEventListener('abort', done);
    });
  }
}
