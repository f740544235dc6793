// Implements the Ownership port on an owned row: an ownership term for each claim and, among several
// nodes, an ownership lease by the database's clock.
import type { Knex } from 'knex';
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import { type Holder, NotVacantError, type Ownership } from '../../ports/ownership.js';
import { StoreUnavailableError } from '../../ports/store.js';
import { createRareLog, type RareLog } from '../../rare-log.js';
import { sessionNameOf } from './connection.js';
import type { DatabaseClock } from './database-clock.js';
import { engineOf } from './engine.js';
import { type Begun, NOBODY, type OwnedBy, type OwnedRow, type Position } from './ownership.js';
import { inTransaction, overConnection } from './transaction.js';
import { orUnavailable } from './unavailable.js';

/** This process among the nodes of a database. */
export interface OwnNode {
  readonly nodeId: string;
  /** URL for other nodes; read at each claim. */
  readonly url: () => string | undefined;
  /** Length of the ownership lease; undefined: ownership lasts until another node claims it. */
  readonly leaseMs: number | undefined;
}

interface OwnershipOptions {
  readonly knex: Knex;
  readonly clock: Clock;
  readonly databaseClock: DatabaseClock;
  readonly owned: OwnedRow;
  readonly log?: Log | undefined;
  readonly node: OwnNode;
  /** Called with a claim before `claim` resolves. */
  readonly onClaimed: (ownerTerm: number, position: Position | undefined) => void;
}

interface OwnerRow extends OwnedBy {
  readonly epoch: number;
  readonly node_url: string | null;
  /** By the database's clock. */
  readonly now_ms: number;
}

const CLAIM_AGAIN_AFTER_MS = 100;
/** Longer than a server keeps the transaction of a process that is gone or frozen (see connection.ts). */
const CLAIM_WITHIN_MS = 20_000;

export class DatabaseOwnership implements Ownership {
  readonly #knex: Knex;
  readonly #clock: Clock;
  readonly #databaseClock: DatabaseClock;
  readonly #owned: OwnedRow;
  readonly #log: Log | undefined;
  readonly #rareLog: RareLog;
  readonly #node: OwnNode;
  readonly #onClaimed: OwnershipOptions['onClaimed'];
  #ownerTerm: number | undefined;
  #isAnnounced = false;

  constructor({ knex, clock, databaseClock, owned, log, node, onClaimed }: OwnershipOptions) {
    this.#knex = knex;
    this.#clock = clock;
    this.#databaseClock = databaseClock;
    this.#owned = owned;
    this.#log = log;
    this.#rareLog = createRareLog(clock);
    this.#node = node;
    this.#onClaimed = onClaimed;
  }

  async claim(): Promise<number> {
    const untilMs = this.#clock.monotonicMs() + (this.#isPostgres ? CLAIM_WITHIN_MS : 0);
    for (;;) {
      const before = await orUnavailable(() => this.#read());
      try {
        const { ownerTerm, position } = await orUnavailable(() => this.#claimAfter(before));
        this.#ownerTerm = ownerTerm;
        this.#isAnnounced = false;
        this.#onClaimed(ownerTerm, position);
        await this.#endSessionsOf(before);
        return ownerTerm;
      } catch (error) {
        if (!(error instanceof StoreUnavailableError) || this.#clock.monotonicMs() >= untilMs) throw error;
        this.#rareLog('claim', () => this.#log?.warn({ err: error }, `${this.#owned.name} is claimed again`));
      }
      await this.#endSessionsOf(before);
      await this.#pause(CLAIM_AGAIN_AFTER_MS);
    }
  }

  async announce(): Promise<void> {
    this.#isAnnounced = true;
    await this.renew();
  }

  async renew(): Promise<boolean> {
    const ownerTerm = this.#ownerTerm;
    if (ownerTerm === undefined) return true;
    const { leaseMs, url } = this.#node;
    if (leaseMs !== undefined) {
      const aliveUntil = this.#databaseClock.inMs(leaseMs);
      const nodeUrl = this.#isAnnounced ? url() : undefined;
      return orUnavailable(() => this.#owned.renew(this.#knex, { ownerTerm, aliveUntil, nodeUrl }));
    }
    const own = (trx: Knex) => this.#owned.row(trx).where({ epoch: ownerTerm }).first('epoch');
    return orUnavailable(() => inTransaction(this.#knex, async (trx) => (await own(trx)) !== undefined));
  }

  async release(): Promise<void> {
    const ownerTerm = this.#ownerTerm;
    if (ownerTerm === undefined || this.#node.leaseMs === undefined) return;
    await orUnavailable(() =>
      inTransaction(this.#knex, (trx) => this.#owned.row(trx).where({ epoch: ownerTerm }).update(NOBODY)),
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

  async #read(): Promise<OwnerRow> {
    const columns = [
      'epoch',
      'node_id',
      'node_url',
      'alive_until_ms',
      { now_ms: this.#databaseClock.inMs(0) },
    ];
    const found = this.#owned.row(this.#knex).first(...columns);
    const row: OwnerRow | undefined = await overConnection(this.#knex, (connection) =>
      found.connection(connection),
    );
    if (row === undefined) throw new Error(`${this.#owned.name} has no row`);
    return row;
  }

  async #isVacant(row: OwnerRow): Promise<boolean> {
    if (!(await this.#isFree(row, row.now_ms))) return false;
    const rival = await this.#owned.rival(this.#knex);
    return rival === undefined || this.#isFree(rival, row.now_ms);
  }

  /** An owner without a lease owns the database for as long as it is connected to it. */
  async #isFree({ node_id, alive_until_ms }: OwnedBy, nowMs: number): Promise<boolean> {
    if (node_id === null) return true;
    if (alive_until_ms !== null) return alive_until_ms <= nowMs;
    if (!this.#isPostgres) return true;
    const sessions = await this.#sessionsOf(node_id).select('pid').limit(1);
    return sessions.length === 0;
  }

  async #isMember(nodeId: string): Promise<boolean> {
    const member = this.#knex('members').where({ node_id: nodeId });
    return (
      (await member.where('alive_until_ms', '>', this.#databaseClock.inMs(0)).first('node_id')) !== undefined
    );
  }

  #sessionsOf(nodeId: string): Knex.QueryBuilder {
    return this.#knex('pg_stat_activity')
      .where({ application_name: sessionNameOf(nodeId) })
      .whereRaw('datname = current_database()');
  }

  /** @throws NotVacantError if another node claimed or renewed since `before`, and nodes hold leases. */
  async #claimAfter(before: OwnerRow): Promise<Begun> {
    const { nodeId, url, leaseMs } = this.#node;
    const owner = { node_id: nodeId, node_url: url() ?? null };
    if (leaseMs === undefined) {
      const begun = await this.#owned.begin(this.#knex, { ...owner, alive_until_ms: null });
      if (begun === undefined) throw new Error(`${this.#owned.name} has no row`);
      return begun;
    }
    if (!(await this.#isVacant(before))) throw new NotVacantError(`another node owns ${this.#owned.name}`);
    await this.#databaseClock.check();
    const begun = await this.#owned.begin(
      this.#knex,
      { ...owner, alive_until_ms: this.#databaseClock.inMs(leaseMs) },
      { ownerTerm: before.epoch, now: this.#databaseClock.inMs(0) },
    );
    if (begun === undefined) throw new NotVacantError('another node was faster');
    return begun;
  }

  /** A frozen process keeps its locks until its sessions end. */
  async #endSessionsOf({ node_id }: OwnerRow): Promise<void> {
    if (!this.#isPostgres || node_id === null || node_id === this.#node.nodeId) return;
    try {
      // A node that lost one shard may be alive and own others.
      if (await this.#isMember(node_id)) return;
      const ended = await this.#sessionsOf(node_id).select(this.#knex.raw('pg_terminate_backend(pid)'));
      if (ended.length > 0)
        this.#log?.info(
          { nodeId: node_id, sessions: ended.length },
          'ended the sessions of the previous owner',
        );
    } catch (error) {
      this.#log?.warn(
        { err: error, nodeId: node_id },
        'the sessions of the previous owner could not be ended',
      );
    }
  }

  #pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.#clock.after(delayMs, resolve);
    });
  }
}
