// The database as one node of a world reaches it: not while the node is cut off, and without an answer while it is
// frozen.

import type { Shard } from '../../machines/values/shards.js';
import type { Clock } from '../../src/ports/clock.js';
import type { Ownership } from '../../src/ports/ownership.js';
import type { SharedDatabase } from '../../src/ports/shared-database.js';
import { type Change, type Store, StoreUnavailableError } from '../../src/ports/store.js';
import type { WriterWatch } from '../checks/writer-watch.js';
import type { NodeHost } from './node-host.js';
import type { Outstanding } from './outstanding.js';
import { type CommitFate, whileOutstanding } from './service-life.js';

/** A driver gives up on a silent database after this time. */
const SILENT_MS = 5_000;
const LOOK_EVERY_MS = 250;

export interface NodeReach {
  readonly name: string;
  /** Resource that the node must own for writing: the database, or a shard. */
  readonly owned: string;
  readonly host: NodeHost;
  readonly clock: Clock;
  readonly outstanding: Outstanding;
  readonly writers: WriterWatch;
  readonly isDatabaseBusy: () => boolean;
  readonly onWritten: (changes: readonly Change[]) => void;
  /** Called before every commit; the implementation kills or freezes the node itself. */
  readonly fateOf: (changes: readonly Change[]) => CommitFate;
}

/** Wraps a database that nodes share in the same way. */
export function sharedAsReached(database: SharedDatabase, at: Omit<NodeReach, 'owned'>): SharedDatabase {
  const { membership, common } = database;
  const storeOf = (store: Store, owned: string) => new NodeStore(store, { ...at, owned });
  const { reach } = reachOf(at);
  const shards = new Map<Shard, Store>();
  return {
    membership: {
      join: (declined) => reach(() => membership.join(declined)),
      renew: (declined) => reach(() => membership.renew(declined)),
      leave: () => reach(() => membership.leave()),
      view: () => reach(() => membership.view()),
    },
    common: {
      loadCredentials: () => reach(() => common.loadCredentials()),
      revisionSince: (since) => reach(() => common.revisionSince(since)),
      glanceAtTenant: (tenantUuid) => reach(() => common.glanceAtTenant(tenantUuid)),
      ping: () => reach(() => common.ping()),
      // No rule of a world depends on the uses of credentials, and each would be a commit.
      noteCredentialUses: async () => {},
    },
    shard(shard) {
      const known = shards.get(shard) ?? storeOf(database.shard(shard), `shard ${shard}`).asStore();
      shards.set(shard, known);
      return known;
    },
    close: () => database.close(),
  };
}

/** A node that freezes during a request receives the answer once it thaws. */
function reachOf({ host, outstanding }: Pick<NodeReach, 'host' | 'outstanding'>) {
  async function reach<T>(work: () => Promise<T>): Promise<T> {
    await host.moving();
    if (host.isCutFromDatabase) {
      await host.pass(SILENT_MS);
      throw new StoreUnavailableError('the database does not answer');
    }
    try {
      return await whileOutstanding(outstanding, work);
    } finally {
      await host.moving();
    }
  }
  return { reach };
}

export class NodeStore {
  readonly #store: Store;
  readonly #at: NodeReach;
  readonly #reach: ReturnType<typeof reachOf>['reach'];

  constructor(store: Store, at: NodeReach) {
    this.#store = store;
    this.#at = at;
    this.#reach = reachOf(at).reach;
  }

  /** Only the nodes write to a world's database, so changes by others need no query. */
  asStore(): Store {
    const store = this.#store;
    const reach = <T>(work: () => Promise<T>) => this.#reach(work);
    return {
      ...store,
      ownership: this.#ownership(),
      isOwner: () => reach(() => store.isOwner()),
      append: (tenantUuid, changes) => this.#append(() => store.append(tenantUuid, changes), changes),
      loadTenant: (tenantUuid) => reach(() => store.loadTenant(tenantUuid)),
      glanceAtTenant: (tenantUuid) => reach(() => store.glanceAtTenant(tenantUuid)),
      loadCredentials: () => reach(() => store.loadCredentials()),
      revisionSince: (since) => reach(() => store.revisionSince(since)),
      powerHistory: (...asked) => reach(() => store.powerHistory(...asked)),
      forgetPowerBefore: (beforeMs) => reach(() => store.forgetPowerBefore(beforeMs)),
      ping: () => reach(() => store.ping()),
      tenantCredentials: (tenantUuid) => reach(() => store.tenantCredentials(tenantUuid)),
      changeCredentials: (...asked) => reach(() => store.changeCredentials(...asked)),
      noteCredentialUses: async () => {},
    };
  }

  async #append(write: () => Promise<void>, changes: readonly Change[]): Promise<void> {
    const { host, name, owned, outstanding, writers, isDatabaseBusy, onWritten, fateOf } = this.#at;
    await host.moving();
    if (isDatabaseBusy()) throw new StoreUnavailableError('the database is busy');
    const fate = host.isCutFromDatabase ? 'survived' : fateOf(changes);
    if (fate === 'diedBefore') throw new StoreUnavailableError('the node is dead');
    const written = async () => {
      await write();
      writers.wrote(name, owned);
      onWritten(changes);
    };
    // A commit under way when the node froze succeeds; one that had not left is sent once the node thaws.
    if (fate !== 'frozenAfter' && fate !== 'diedAfter') return this.#reach(written);
    await whileOutstanding(outstanding, written);
    await host.moving();
  }

  #ownership(): Ownership {
    const { ownership } = this.#store;
    const { host, name, owned, writers } = this.#at;
    return {
      awaitVacancy: (signal) => this.#awaitVacancy(signal),
      claim: () =>
        this.#reach(async () => {
          const term = await ownership.claim();
          writers.claimed(name, term, host.aheadMs, owned);
          return term;
        }),
      announce: () => this.#reach(() => ownership.announce()),
      renew: () => this.#reach(() => ownership.renew()),
      release: () => this.#reach(() => ownership.release()),
      holder: () => this.#reach(() => ownership.holder()),
    };
  }

  /** Like the production's own wait, whose pause between two looks would count as outstanding work. */
  async #awaitVacancy(signal: AbortSignal): Promise<void> {
    const { ownership } = this.#store;
    for (;;) {
      signal.throwIfAborted();
      try {
        if ((await this.#reach(() => ownership.holder())) === undefined) return;
      } catch (error) {
        if (!(error instanceof StoreUnavailableError)) throw error;
      }
      await this.#at.host.pass(LOOK_EVERY_MS);
    }
  }
}
