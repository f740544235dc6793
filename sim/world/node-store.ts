// The database as one node of a world reaches it: not while it is cut off, and no answer while it is frozen.
import type { Clock } from '../../src/ports/clock.js';
import type { Ownership } from '../../src/ports/ownership.js';
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
  readonly host: NodeHost;
  readonly clock: Clock;
  readonly outstanding: Outstanding;
  readonly writers: WriterWatch;
  readonly isDatabaseBusy: () => boolean;
  readonly onWritten: (changes: readonly Change[]) => void;
  /** Asked before every commit; the node dies or freezes by whoever says so. */
  readonly fateOf: (changes: readonly Change[]) => CommitFate;
}

export class NodeStore {
  readonly #store: Store;
  readonly #at: NodeReach;

  constructor(store: Store, at: NodeReach) {
    this.#store = store;
    this.#at = at;
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
      loadCredentials: () => reach(() => store.loadCredentials()),
      revisionSince: (since) => reach(() => store.revisionSince(since)),
      powerHistory: (...asked) => reach(() => store.powerHistory(...asked)),
      forgetPowerBefore: (beforeMs) => reach(() => store.forgetPowerBefore(beforeMs)),
      ping: () => reach(() => store.ping()),
    };
  }

  /** Where the node freezes meanwhile, it hears the answer once it thaws. */
  async #reach<T>(work: () => Promise<T>): Promise<T> {
    const { host, outstanding } = this.#at;
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

  async #append(write: () => Promise<void>, changes: readonly Change[]): Promise<void> {
    const { host, name, outstanding, writers, isDatabaseBusy, onWritten, fateOf } = this.#at;
    await host.moving();
    if (isDatabaseBusy()) throw new StoreUnavailableError('the database is busy');
    const fate = host.isCutFromDatabase ? 'survived' : fateOf(changes);
    if (fate === 'diedBefore') throw new StoreUnavailableError('the node is dead');
    const written = async () => {
      await write();
      writers.wrote(name);
      onWritten(changes);
    };
    // What was on its way when the node froze is taken, and what was not leaves once it thaws.
    if (fate !== 'frozenAfter' && fate !== 'diedAfter') return this.#reach(written);
    await whileOutstanding(outstanding, written);
    await host.moving();
  }

  #ownership(): Ownership {
    const { ownership } = this.#store;
    const { host, name, writers } = this.#at;
    return {
      awaitVacancy: (signal) => this.#awaitVacancy(signal),
      claim: () =>
        this.#reach(async () => {
          const term = await ownership.claim();
          writers.claimed(name, term, host.aheadMs);
          return term;
        }),
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
