// The database as one node of a world reaches it: not while it is cut off, and no answer while it is frozen.

import type { Shard } from '../../machines/values/shards.js';
import type { Clock } from '../../src/ports/clock.js';
import type { Ownership } from '../../src/ports/ownership.js';
import type { SharedDatabase } from '../../src/ports/shared-database.js';
import { type Change, type Store, StoreUnavailableError } from '../../src/ports/store.js';
import type { WriterWatch } from '../checks/writer-watch.js';
import type { NodeHost } from './node-host.js';
import type { Outstanding } from './outstanding.js';
import { type CommitFate, whileOutstanding } from './service-life.js';

/** After so long a driver gives up on a database that does not answer. */
const SILENT_MS = 5_000;
const LOOK_EVERY_MS = 250;

export interface NodeReach {
  readonly name: string;
  /** What it owns to write: the database, or a shard. */
  readonly owned: string;
  readonly host: NodeHost;
  readonly clock: Clock;
  readonly outstanding: Outstanding;
  readonly writers: WriterWatch;
  readonly isDatabaseBusy: () => boolean;
  readonly onWritten: (changes: readonly Change[]) => void;
  /** Asked before every commit; the node dies or freezes by whoever says so. */
  readonly fateOf: (changes: readonly Change[]) => CommitFate;
}

/** The same of a database that nodes share. */
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
      // No rule of a world depends on it, and each would be a commit.
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

/** How a node asks the database: where it freezes meanwhile, it hears the answer once it thaws. */
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

  /** Nobody but the nodes writes to a world's database: what others changed need not be asked. */
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
    // What was on its way when the node froze is taken, and what was not leaves once it thaws.
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

  /** As the production's own, whose waiting between two looks would be taken for work on the way. */
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
