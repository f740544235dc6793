// One life of the production service in a world: it starts on what is stored, and may be killed at any instant.
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
  /** Ends it at once: no timer fires, nothing is written, nothing is sent. */
  kill(): Promise<void>;
  /** As an operator stops it. */
  stop(): Promise<void>;
}

/** What the service writes by itself: nobody asked for it, and nobody but the service waits for it. */
export const BOOKKEEPING: ReadonlySet<Change['kind']> = new Set([
  'reservation.put',
  'alarm.begin',
  'alarm.change',
  'alarm.end',
  'power.put',
]);

/**
 * What becomes of a commit; one that the service did not survive is never acknowledged. A node among several may freeze in the middle
 * of one, before or after it reached the database.
 */
export type CommitFate = 'survived' | 'diedBefore' | 'diedAfter' | 'frozenBefore' | 'frozenAfter';

/** What a world is told of the service, through all its lives. */
export interface LifeEvents {
  readonly onWritten: (changes: readonly Change[]) => void;
  readonly fateOf: (changes: readonly Change[]) => CommitFate;
  /** A service runs from now on: it may be another than before. */
  readonly onBegan: () => Promise<void>;
}

/** What may befall what it writes. */
interface Mortality {
  /** While true, nothing can be written. */
  readonly isDatabaseBusy: () => boolean;
  /** Told of everything that was written. */
  readonly onWritten: (changes: readonly Change[]) => void;
  /** Asked before every commit: the service may die before or after it, and is killed then by whoever says so. */
  readonly fateOf: (changes: readonly Change[]) => CommitFate;
}

export async function startService(
  options: {
    readonly config: Config;
    readonly clock: Clock;
    readonly log: Log;
    /** How it reaches the chargers. */
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
      // What remains is to close sockets and files, as the host does for a process that is gone.
      await service.stop();
    },
    async stop() {
      await service.stop();
      life.isLiving = false;
    },
  };
}

/** Writes that wait, at most. */
const HELD = 500;

/**
 * What the service writes of its own accord is on disk as soon as somebody could see that it is not: at the next change that
 * a client asks for, when it is read, when the service ends or is killed. A day has thousands of such commits.
 */
class HeldWrites {
  readonly #store: Store;
  #held: { readonly tenantUuid: TenantUuid; readonly changes: readonly Change[] }[] = [];

  constructor(store: Store) {
    this.#store = store;
  }

  /** False where it is not to be held. */
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

/** Nobody else writes to a world's database, so that who owns it and what others changed need not be asked. */
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
    // No rule of a world depends on it, and each would be a commit.
    noteCredentialUses: async () => {},
    async close() {
      await own.write();
      await store.close();
    },
  };
}
