// One life of the production service in a world: it starts on what is stored, and may be killed at any instant.

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
  /** Everything of it ends at once: no timer fires, nothing is written, nothing is sent. */
  kill(): Promise<void>;
  /** As an operator stops it. */
  stop(): Promise<void>;
}

/** What becomes of a commit: nobody hears of one that the service did not survive. */
export type CommitFate = 'survived' | 'diedBefore' | 'diedAfter';

export async function startService(options: {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
  /** How it reaches the chargers. */
  readonly carrier: CarrierLife;
  readonly createActors: Seams['createActors'] | undefined;
  readonly newId: () => string;
  readonly outstanding: Outstanding;
  /** While true, nothing can be written. */
  readonly isDatabaseBusy: () => boolean;
  /** Told of everything that was written. */
  readonly onWritten: (changes: readonly Change[]) => void;
  /** Asked before every commit: the service may die before or after it, and is killed then by whoever says so. */
  readonly fateOf: (changes: readonly Change[]) => CommitFate;
}): Promise<ServiceLife> {
  const { config, clock, log, carrier, newId, outstanding, isDatabaseBusy, onWritten, fateOf } = options;
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
    wrapStore: (store) => mortalStore(store, life, outstanding, { isDatabaseBusy, onWritten, fateOf }),
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

/** Nobody else writes to a world's database, so that who owns it and what others changed need not be asked. */
function mortalStore(
  store: Store,
  life: { readonly isLiving: boolean },
  outstanding: Outstanding,
  {
    isDatabaseBusy,
    onWritten,
    fateOf,
  }: {
    readonly isDatabaseBusy: () => boolean;
    readonly onWritten: (changes: readonly Change[]) => void;
    readonly fateOf: (changes: readonly Change[]) => CommitFate;
  },
): Store {
  async function counted<T>(work: () => Promise<T>): Promise<T> {
    outstanding.begin();
    try {
      return await work();
    } finally {
      outstanding.end();
    }
  }
  let revision: ReturnType<Store['revisionSince']> | undefined;
  return {
    ...store,
    append(tenantUuid, changes) {
      if (!life.isLiving || isDatabaseBusy())
        return Promise.reject(new StoreUnavailableError('the database is busy'));
      const fate = fateOf(changes);
      if (fate === 'diedBefore') return Promise.reject(new StoreUnavailableError('the service is dead'));
      return counted(async () => {
        await store.append(tenantUuid, changes);
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
    loadTenant: (tenantUuid) => counted(() => store.loadTenant(tenantUuid)),
    forgetPowerBefore: (beforeMs) => counted(() => store.forgetPowerBefore(beforeMs)),
  };
}
