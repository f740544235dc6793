// Implements the Store port over one SQLite or PostgreSQL database.
import { randomUUID } from 'node:crypto';
import type { Knex } from 'knex';
import type { TenantUuid } from '../../../machines/values/ids.js';
import { forgetSomeAnswers, writeAnswers } from '../../features/answers/rows.js';
import {
  loadCredentials,
  loadTenantCredentials,
  noteUses,
  writeCredentialChanges,
} from '../../features/credentials/rows.js';
import { forgetSomeEnergy } from '../../features/energy/rows.js';
import { eventsOfCredentials } from '../../features/event-log.js';
import { forgetSomeEvents } from '../../features/events/rows.js';
import { forgetSomeConnectorPower } from '../../features/power-history/connector-rows.js';
import { forgetSomePower } from '../../features/power-history/rows.js';
import { logEvents, readTenant, writeChanges } from '../../features/store-rows.js';
import type { Metrics } from '../../metrics.js';
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import type { Ownership } from '../../ports/ownership.js';
import type { TenantState } from '../../ports/records.js';
import { type Store, StoreUnavailableError, type Submission } from '../../ports/store.js';
import { createRareLog, type RareLog } from '../../rare-log.js';
import { openDatabase } from './connection.js';
import { Database } from './database.js';
import { DatabaseClock } from './database-clock.js';
import { DatabaseOwnership, type OwnNode } from './database-ownership.js';
import { Journal } from './journal.js';
import { countCommit, type OwnedRow, type Position, WHOLE_DATABASE } from './ownership.js';
import { markChanged, nextRevision, revisionSince } from './revisions.js';
import { awaitWriters, inSnapshot, inTransaction } from './transaction.js';
import { orUnavailable } from './unavailable.js';

// On a nearly full disk this small write may succeed although callers' larger ones are refused.
const REFUSED_LATELY_MS = 5000;

export interface StoreOptions {
  /** `sqlite:PATH`, `sqlite::memory:` or `postgres://…`. */
  readonly databaseUrl: string;
  readonly clock: Clock;
  /** Clock of an SQLite database's host; by default `clock`. PostgreSQL has its own. */
  readonly databaseClock?: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly journal?: {
    /** Most callers that share one commit, 500 by default. */
    readonly maxBatch?: number;
    /** Most callers that wait for a commit, 10,000 by default. */
    readonly maxPending?: number;
  };
  /** For a service; left out by processes that only read, or write beside a service. */
  readonly node?: OwnNode;
}

/**
 * Opens the database, reads all of an SQLite database, and brings its schema up to date.
 * @throws StoreUnavailableError if it cannot be reached or is locked.
 * @throws DatabaseLostError if it is damaged or lacks acknowledged commits.
 */
export async function createStore(options: StoreOptions): Promise<Store> {
  const { databaseUrl, log, node } = options;
  const nodeId = node?.nodeId;
  const database = await Database.open(databaseUrl, { log, nodeId, isChecked: true });
  const { knex, migrations } = database;
  if (migrations.length > 0) log.info({ migrations }, 'database schema brought up to date');
  // A lease must not wait for reads and writes: it has a connection of its own.
  const ownerKnex =
    node?.leaseMs === undefined ? undefined : openDatabase(databaseUrl, { log, nodeId, connections: 1 });
  return storeOver(knex, { ...options, database, ...(ownerKnex && { ownerKnex }) });
}

interface OpenDatabase extends Omit<StoreOptions, 'databaseUrl' | 'log'> {
  readonly log?: Log;
  readonly database?: Database;
  /** Another connection to the same database, for its ownership alone. */
  readonly ownerKnex?: Knex;
  /** For one of several stores over the same database: its part, and the connection for ownership. */
  readonly part?: { readonly owned: OwnedRow; readonly ownerKnex: Knex };
}

/**
 * A store over a database that is open and migrated. Closing it closes
 * the database, unless it is one of several stores.
 */
export function storeOver(knex: Knex, options: OpenDatabase): Store {
  return new KnexStore(knex, options);
}

/** One database with its write queue and the ownership term of this process. */
class KnexStore implements Store {
  readonly #knex: Knex;
  readonly ownership: Ownership;
  readonly #database: Database | undefined;
  /** Closed with the store. */
  readonly #connections: Knex[] = [];
  readonly #log: Log | undefined;
  readonly #rareLog: RareLog;
  readonly #journal: Journal;
  readonly #owned: OwnedRow;
  /** Ownership term of this process; undefined before its claim. */
  #ownerTerm: number | undefined;
  #closed: Promise<void> | undefined;

  // Fields and not methods: wrappers of a store spread it.
  readonly isOwner: Store['isOwner'] = () => this.ownership.renew();
  readonly append: Store['append'];
  readonly loadTenant: Store['loadTenant'] = (tenantUuid) =>
    this.#inTurn(() => loadTenant(this.#knex, tenantUuid));
  readonly glanceAtTenant: Store['glanceAtTenant'] = (tenantUuid) =>
    this.#ask((trx) => readTenant(trx, tenantUuid));
  readonly loadCredentials: Store['loadCredentials'] = () => this.#ask(loadCredentials);
  readonly tenantCredentials: Store['tenantCredentials'] = (tenantUuid) =>
    this.#ask((trx) => loadTenantCredentials(trx, tenantUuid));
  // Outside the journal: on PostgreSQL a long provisioning holds the revision, and limits must not wait for that.
  readonly changeCredentials: Store['changeCredentials'] = async (tenantUuid, decide, beside = () => []) => {
    this.#requireFiles();
    const ownerTerm = this.#ownerTerm;
    const { changes, position } = await orUnavailable(() =>
      inTransaction(this.#knex, async (trx) => {
        const revision = await nextRevision(trx);
        const decided = decide(await loadTenantCredentials(trx, tenantUuid));
        await writeCredentialChanges(trx, decided);
        await markChanged(trx, tenantUuid, revision, { sites: false, credentials: true });
        await logEvents(trx, tenantUuid, eventsOfCredentials(decided));
        await writeAnswers(
          trx,
          beside().map((change) => ({ ...change, tenantUuid })),
        );
        const counted = ownerTerm === undefined ? undefined : await this.#owned.countCommitOf(trx, ownerTerm);
        return { changes: decided, position: counted };
      }),
    );
    this.#requireFiles({ isOutcomeUnknown: true });
    this.#note(position);
    return changes;
  };
  readonly noteCredentialUses: Store['noteCredentialUses'] = (uses) =>
    this.#inTurn(() => inTransaction(this.#knex, (trx) => noteUses(trx, uses)));
  readonly revisionSince: Store['revisionSince'] = (since) => this.#ask((trx) => revisionSince(trx, since));
  readonly read: Store['read'] = (question) => this.#ask(question);
  readonly forgetPowerBefore: Store['forgetPowerBefore'] = async (beforeMs) => {
    const forgetSome = () => inTransaction(this.#knex, (trx) => forgetSomePower(trx, beforeMs));
    // In turns with the writers, which would otherwise wait for the whole deletion.
    while (!(await this.#inTurn(forgetSome)));
  };
  readonly forgetEnergyBefore: Store['forgetEnergyBefore'] = async (day) => {
    const forgetSome = () => inTransaction(this.#knex, (trx) => forgetSomeEnergy(trx, day));
    while (!(await this.#inTurn(forgetSome)));
  };
  readonly forgetConnectorPowerBefore: Store['forgetConnectorPowerBefore'] = async (day) => {
    const forgetSome = () => inTransaction(this.#knex, (trx) => forgetSomeConnectorPower(trx, day));
    while (!(await this.#inTurn(forgetSome)));
  };
  readonly forgetAnswersBefore: Store['forgetAnswersBefore'] = async (beforeMs) => {
    const forgetSome = () => inTransaction(this.#knex, (trx) => forgetSomeAnswers(trx, beforeMs));
    while (!(await this.#inTurn(forgetSome)));
  };
  readonly forgetEventsBefore: Store['forgetEventsBefore'] = async (beforeMs) => {
    const forgetSome = () => inTransaction(this.#knex, (trx) => forgetSomeEvents(trx, beforeMs));
    while (!(await this.#inTurn(forgetSome)));
  };

  /** @throws StoreUnavailableError if a commit fails now, or one of a moment ago did. */
  readonly ping: Store['ping'] = async () => {
    const ownerTerm = this.#ownerTerm;
    await this.#inTurn(async () => {
      this.#requireFiles();
      await inTransaction(this.#knex, async (trx) => {
        // A node that was replaced must take no more writes, in any state of the database.
        if (ownerTerm === undefined) await countCommit(trx);
        else await this.#owned.countCommitOf(trx, ownerTerm);
      });
    });
    if ((this.#journal.refusedForMs() ?? REFUSED_LATELY_MS) < REFUSED_LATELY_MS)
      throw new StoreUnavailableError('the database refused a write a moment ago');
  };

  readonly close: Store['close'] = () => {
    this.#closed ??= this.#journal.close().then(() => this.#closeDatabase());
    return this.#closed;
  };

  constructor(knex: Knex, options: OpenDatabase) {
    const { database, log, clock, databaseClock: hostClock = clock, metrics, journal, node } = options;
    const { part, ownerKnex } = options;
    const claimsBy = part?.ownerKnex ?? ownerKnex ?? knex;
    this.#knex = knex;
    this.#database = database;
    if (ownerKnex !== undefined) this.#connections.push(ownerKnex);
    if (part === undefined && database === undefined) this.#connections.push(knex);
    this.#owned = part?.owned ?? WHOLE_DATABASE;
    this.#log = log;
    this.#rareLog = createRareLog(clock);
    this.#journal = new Journal({
      write: this.#write,
      clock,
      metrics,
      ...journal,
    });
    this.append = this.#journal.append;
    this.ownership = new DatabaseOwnership({
      knex: claimsBy,
      clock,
      owned: this.#owned,
      log,
      databaseClock: new DatabaseClock(claimsBy, { clock, hostClock }),
      node: node ?? { nodeId: randomUUID(), url: () => undefined, leaseMs: undefined },
      onClaimed: (ownerTerm, position) => {
        this.#note(position);
        this.#database?.mark?.flush();
        this.#ownerTerm = ownerTerm;
      },
    });
  }

  /** Result of `question` in one snapshot, concurrent with writes. */
  async #ask<T>(question: (trx: Knex.Transaction) => Promise<T>): Promise<T> {
    if (this.#closed !== undefined) throw new StoreUnavailableError('the database is being closed');
    return orUnavailable(() => inSnapshot(this.#knex, question));
  }

  /** Runs `work` between two commits. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    return this.#journal.exclusively(() => orUnavailable(work));
  }

  async #closeDatabase(): Promise<void> {
    for (const connection of this.#connections) await connection.destroy();
    await this.#database?.close();
  }

  readonly #write = async (submissions: readonly Submission[]): Promise<void> => {
    this.#requireFiles();
    const position = await inTransaction(this.#knex, async (trx) => {
      await writeChanges(trx, submissions);
      return this.#ownerTerm === undefined ? undefined : this.#owned.countCommitOf(trx, this.#ownerTerm);
    });
    this.#requireFiles({ isOutcomeUnknown: true });
    this.#note(position);
  };

  /** @throws StoreUnavailableError if SQLite writes to a file that would be gone after its close. */
  #requireFiles(options: { readonly isOutcomeUnknown?: true } = {}): void {
    const file = this.#database?.files?.missing();
    if (file === undefined) return;
    const problem = `${file} was deleted or replaced while the service runs`;
    this.#rareLog('files', () =>
      this.#log?.error({ file }, 'the database was deleted or replaced: nothing is stored'),
    );
    throw new StoreUnavailableError(problem, options);
  }

  /** If the mark cannot be written, commits are acknowledged all the same: then a later loss is not noticed. */
  #note(position: Position | undefined): void {
    if (position === undefined) return;
    try {
      this.#database?.mark?.note(position);
    } catch (error) {
      this.#rareLog('commit mark', () =>
        this.#log?.warn({ err: error }, 'the mark of the last commit could not be written'),
      );
    }
  }
}

async function loadTenant(knex: Knex, tenantUuid: TenantUuid): Promise<TenantState> {
  await awaitWriters(knex, tenantUuid);
  return inSnapshot(knex, (trx) => readTenant(trx, tenantUuid));
}
