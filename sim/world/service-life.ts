// One life of the production service in a world: it starts on the stored state, and may be killed at any instant.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { TenantUuid } from '../../machines/values/ids.js';
import type { Config } from '../../src/config.js';
import { createMetrics, type Metrics } from '../../src/metrics.js';
import type { Clock } from '../../src/ports/clock.js';
import type { Log } from '../../src/ports/log.js';
import { type Change, type Store, StoreUnavailableError } from '../../src/ports/store.js';
import { type Seams, Service } from '../../src/service.js';
import type { CarrierLife } from './carrier.js';
import type { Outstanding } from './outstanding.js';

export interface ServiceLife {
  readonly httpUrl: string;
  readonly mqttUrl: string;
  readonly metrics: Metrics;
  /** Ends the service at once: no timer fires, no write and no message leaves. */
  kill(): Promise<void>;
  /** Stops the service as an operator does. */
  stop(): Promise<void>;
}

/** Batched writes: the service makes them by itself, and no client waits for them. */
export const BOOKKEEPING: ReadonlySet<Change['kind']> = new Set([
  'reservation.put',
  'alarm.begin',
  'alarm.change',
  'alarm.end',
  'power.put',
]);

/**
 * Outcome of a commit. A commit that the service did not survive is never acknowledged. A node among several may
 * freeze in the middle of a commit, before or after it reached the database.
 */
export type CommitFate = 'survived' | 'diedBefore' | 'diedAfter' | 'frozenBefore' | 'frozenAfter';

/** Events of the service, through all its lives. */
export interface LifeEvents {
  readonly onWritten: (changes: readonly Change[]) => void;
  readonly fateOf: (changes: readonly Change[]) => CommitFate;
  /** A service runs from now on, which may be another one than before. */
  readonly onBegan: () => Promise<void>;
}

/** Faults of the service's writes. */
interface Mortality {
  /** While true, every write fails. */
  readonly isDatabaseBusy: () => boolean;
  /** Receives everything that was written. */
  readonly onWritten: (changes: readonly Change[]) => void;
  /**
   * Called before every commit. The service may die before or after the commit; the implementation kills it itself.
   */
  readonly fateOf: (changes: readonly Change[]) => CommitFate;
}

export async function startService(
  options: {
    readonly config: Config;
    readonly clock: Clock;
    readonly log: Log;
    /** Its connection to the chargers. */
    readonly carrier: CarrierLife;
    readonly createActors: Seams['createActors'] | undefined;
    readonly newId: () => string;
    readonly outstanding: Outstanding;
  } & Mortality,
): Promise<ServiceLife> {
  const { config, clock, log, carrier, newId, outstanding } = options;
  const metrics = createMetrics();
  const life = { isLiving: true };
  const mortalClock: Clock = {
    nowMs: () => clock.nowMs(),
    monotonicMs: () => clock.monotonicMs(),
    after: (delayMs, callback) =>
      clock.after(delayMs, () => {
        if (life.isLiving) callback();
      }),
  };
  const service = new Service(config, {
    clock: mortalClock,
    log,
    metrics,
    newId,
    ...carrier.seams,
    ...(options.createActors && { createActors: options.createActors }),
    wrapStore: (store) => mortalStore(store, life, outstanding, options),
  });
  const urls = await service.start();
  return {
    ...urls,
    metrics,
    async kill() {
      life.isLiving = false;
      carrier.end();
      // Only sockets and files remain to be closed, as the host does for a dead process.
      await service.stop();
    },
    async stop() {
      await service.stop();
      life.isLiving = false;
    },
  };
}

/** Most writes that are held. */
const HELD = 500;

/**
 * Holds batched writes until their absence could show: at the next change for a client, at a read, or when the
 * service ends or is killed. A day has thousands of such commits.
 */
class HeldWrites {
  readonly #store: Store;
  #held: { readonly tenantUuid: TenantUuid; readonly changes: readonly Change[] }[] = [];

  constructor(store: Store) {
    this.#store = store;
  }

  /** False for changes that must not be held. */
  hold(tenantUuid: TenantUuid, changes: readonly Change[]): boolean {
    if (this.#held.length >= HELD || !changes.every(({ kind }) => BOOKKEEPING.has(kind))) return false;
    this.#held.push({ tenantUuid, changes });
    return true;
  }

  async write(): Promise<void> {
    const held = this.#held;
    this.#held = [];
    await Promise.all(held.map(({ tenantUuid, changes }) => this.#store.append(tenantUuid, changes)));
  }
}

/** The world waits for `work`. */
export async function whileOutstanding<T>(outstanding: Outstanding, work: () => Promise<T>): Promise<T> {
  outstanding.begin();
  try {
    return await work();
  } finally {
    outstanding.end();
  }
}

/** Only the service writes to a world's database, so its ownership and changes by others need no query. */
function mortalStore(
  store: Store,
  life: { readonly isLiving: boolean },
  outstanding: Outstanding,
  { isDatabaseBusy, onWritten, fateOf }: Mortality,
): Store {
  const counted = <T>(work: () => Promise<T>) => whileOutstanding(outstanding, work);
  const own = new HeldWrites(store);
  let revision: ReturnType<Store['revisionSince']> | undefined;
  return {
    ...store,
    append(tenantUuid, changes) {
      if (!life.isLiving || isDatabaseBusy())
        return Promise.reject(new StoreUnavailableError('the database is busy'));
      const fate = fateOf(changes);
      if (fate === 'diedBefore') return Promise.reject(new StoreUnavailableError('the service is dead'));
      if (own.hold(tenantUuid, changes)) return counted(() => nextTurn().then(() => onWritten(changes)));
      return counted(async () => {
        await Promise.all([own.write(), store.append(tenantUuid, changes)]);
        onWritten(changes);
        if (fate === 'diedAfter') throw new StoreUnavailableError('the service is dead');
      });
    },
    isOwner: () => Promise.resolve(true),
    revisionSince(since) {
      revision ??= counted(() => store.revisionSince(since));
      return revision.then((first) =>
        since === undefined ? first : { ...first, tenants: [], credentialsChanged: false },
      );
    },
    loadTenant: (tenantUuid) =>
      counted(async () => {
        await own.write();
        return store.loadTenant(tenantUuid);
      }),
    async alarms(tenantUuid, filter) {
      await own.write();
      return store.alarms(tenantUuid, filter);
    },
    async powerHistory(tenantUuid, locationId, window, stepMs) {
      await own.write();
      return store.powerHistory(tenantUuid, locationId, window, stepMs);
    },
    forgetPowerBefore: (beforeMs) =>
      counted(async () => {
        await own.write();
        await store.forgetPowerBefore(beforeMs);
      }),
    // No rule of a world depends on the uses of credentials, and each would be a commit.
    noteCredentialUses: async () => {},
    async close() {
      await own.write();
      await store.close();
    },
  };
}
