// The service of a world through all its lives: its starts, its answers and its ends.

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { TenantUuid } from '../../machines/values/ids.js';
import { type Config, variableOf } from '../../src/config.js';
import { createMetrics, type Metrics } from '../../src/metrics.js';
import type { Clock } from '../../src/ports/clock.js';
import type { Log } from '../../src/ports/log.js';
import { type Change, type Store, StoreUnavailableError } from '../../src/ports/store.js';
import { type Seams, Service } from '../../src/service.js';
import { readCertificates } from '../../src/tls-files.js';
import type { Carrier } from './carrier.js';
import { mortal, type Outstanding } from './pace.js';
import { callService, type Question, type RestAnswer } from './rest-client.js';

/** Batched writes: the service makes them by itself, and no client waits for them. */
export const BOOKKEEPING: ReadonlySet<Change['kind']> = new Set([
  'reservation.put',
  'alarm.begin',
  'alarm.change',
  'alarm.end',
  'power.put',
  'connectorPower.put',
]);

/**
 * Outcome of a commit. A commit that the service did not survive is never acknowledged. A node among several may
 * freeze in the middle of a commit, before or after it reached the database.
 */
export type CommitFate = 'survived' | 'diedBefore' | 'diedAfter' | 'frozenBefore' | 'frozenAfter';

/** Events of the service, through all its lives. */
export interface LifeEvents {
  /** Receives everything that was written. */
  readonly onWritten: (changes: readonly Change[]) => void;
  /**
   * Called before every commit. The service may die before or after the commit; the implementation kills it itself.
   */
  readonly fateOf: (changes: readonly Change[]) => CommitFate;
  /** A service runs from now on, which may be another one than before. */
  readonly onBegan: () => Promise<void>;
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
  #underWay: Promise<unknown> = Promise.resolve();

  constructor(store: Store) {
    this.#store = store;
  }

  /** False for changes that must not be held. */
  hold(tenantUuid: TenantUuid, changes: readonly Change[]): boolean {
    if (this.#held.length >= HELD || !changes.every(({ kind }) => BOOKKEEPING.has(kind))) return false;
    this.#held.push({ tenantUuid, changes });
    return true;
  }

  /** Waits for earlier calls, too: a read contains every change whose append has resolved. */
  async write(): Promise<void> {
    const held = this.#held;
    this.#held = [];
    const before = this.#underWay;
    const writing = held.map(({ tenantUuid, changes }) => this.#store.append(tenantUuid, changes));
    this.#underWay = Promise.allSettled([before, ...writing]);
    await Promise.all([before, ...writing]);
  }
}

/** Only the service writes to a world's database, so its ownership and changes by others need no query. */
function mortalStore(
  store: Store,
  life: { readonly isLiving: boolean },
  outstanding: Outstanding,
  isDatabaseBusy: () => boolean,
  { onWritten, fateOf }: LifeEvents,
): Store {
  const counted = <T>(work: () => Promise<T>) => outstanding.during(work);
  // Time goes on after the caller has the refusal, by any number of promises.
  const refused = (reason: string) =>
    counted(() => nextTurn().then(() => Promise.reject(new StoreUnavailableError(reason))));
  const own = new HeldWrites(store);
  let revision: ReturnType<Store['revisionSince']> | undefined;
  return {
    ...store,
    append(tenantUuid, changes, by) {
      if (!life.isLiving || isDatabaseBusy()) return refused('the database is busy');
      const fate = fateOf(changes);
      if (fate === 'diedBefore') return refused('the service is dead');
      if (own.hold(tenantUuid, changes)) return counted(() => nextTurn().then(() => onWritten(changes)));
      return counted(async () => {
        await Promise.all([own.write(), store.append(tenantUuid, changes, by)]);
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
    async read(question) {
      await own.write();
      return store.read(question);
    },
    forgetPowerBefore: (beforeMs) =>
      counted(async () => {
        await own.write();
        await store.forgetPowerBefore(beforeMs);
      }),
    forgetEnergyBefore: (day) =>
      counted(async () => {
        await own.write();
        await store.forgetEnergyBefore(day);
      }),
    forgetConnectorPowerBefore: (day) =>
      counted(async () => {
        await own.write();
        await store.forgetConnectorPowerBefore(day);
      }),
    // No request of a world has an `Idempotency-Key`.
    forgetAnswersBefore: async () => {},
    forgetEventsBefore: async () => {},
    // No rule of a world depends on the uses of credentials, and each would be a commit.
    noteCredentialUses: async () => {},
    async close() {
      await own.write();
      await store.close();
    },
  };
}

export const NO_ANSWER: RestAnswer = { status: 0, body: undefined };

/**
 * Certificate that signed the certificate of a service with TLS, as PEM: clients in a world trust its own
 * certificate.
 */
export function authorityOf({ tlsCert }: Config): string | undefined {
  return tlsCert === undefined ? undefined : readCertificates(variableOf('tlsCert'), tlsCert);
}

/** Runs the production service in a world. */
export interface ServiceHost {
  /** While true, every write fails. */
  isDatabaseBusy: boolean;
  /** The service has a broker of its own: chargers lose the broker with the service. */
  readonly hasBroker: boolean;
  /** Possible outcomes of a commit during which the service dies or freezes. */
  readonly fates: readonly CommitFate[];
  /** True if the service can answer. */
  readonly isUp: boolean;
  /** True if the service receives messages of chargers. */
  readonly isListening: boolean;
  readonly ids: ServiceIds;
  /** Address of the service that can answer now; undefined without one, and for several nodes. */
  readonly httpUrl?: string | undefined;
  /** Metrics of the service that can answer now. */
  readonly metrics: Metrics | undefined;
  /** Begins the next life of the service, on the stored state. */
  start(carrier: Carrier, events: LifeEvents): Promise<void>;
  /**
   * Kills the service at once.
   * @returns a function that closes its sockets and files; undefined if the service was dead already
   */
  die(): (() => Promise<void>) | undefined;
  /** Ends the service for good. */
  stop(): Promise<void>;
  /** If the service dies meanwhile, its answer is lost. */
  ask(question: Question, tenantUuid: string, who?: 'client' | 'watch'): Promise<RestAnswer>;
}

/**
 * Ids that the service assigns. The id of an object that a call creates depends on that call alone, and not on
 * other events.
 */
export class ServiceIds {
  /** Name of the present call, if it has one. */
  #call: string | undefined;
  readonly #given = new Map<string | undefined, number>();

  next(): string {
    const nth = 1 + (this.#given.get(this.#call) ?? 0);
    this.#given.set(this.#call, nth);
    return this.#call === undefined ? `id-${nth}` : `id-${this.#call}-${nth}`;
  }

  async during<T>(call: string | undefined, task: () => Promise<T>): Promise<T> {
    this.#call = call;
    try {
      return await task();
    } finally {
      this.#call = undefined;
    }
  }
}

interface WorldServiceOptions {
  readonly config: Config;
  /** The API key of each tenant. */
  readonly keys: ReadonlyMap<string, string>;
  readonly clock: Clock;
  readonly log: Log;
  readonly outstanding: Outstanding;
  readonly createActors?: Seams['createActors'];
  readonly newId?: Seams['newId'];
}

export class WorldService implements ServiceHost {
  isDatabaseBusy = false;
  readonly hasBroker = true;
  readonly fates = ['diedBefore', 'diedAfter'] as const;
  readonly ids = new ServiceIds();
  readonly #options: WorldServiceOptions;
  readonly #ca: string | undefined;
  #life:
    | {
        readonly httpUrl: string;
        readonly metrics: Metrics;
        /** Ends the service at once: no timer fires, no write and no message leaves. */
        kill(): Promise<void>;
        stop(): Promise<void>;
      }
    | undefined;

  constructor(options: WorldServiceOptions) {
    this.#options = options;
    this.#ca = authorityOf(options.config);
  }

  get isUp(): boolean {
    return this.#life !== undefined;
  }

  get isListening(): boolean {
    return this.isUp;
  }

  get httpUrl(): string | undefined {
    return this.#life?.httpUrl;
  }

  get metrics(): Metrics | undefined {
    return this.#life?.metrics;
  }

  async start(carrier: Carrier, events: LifeEvents): Promise<void> {
    const { config, clock, log, outstanding, createActors, newId = () => this.ids.next() } = this.#options;
    const metrics = createMetrics();
    const life = { isLiving: true };
    const carried = carrier.open();
    const service = new Service(config, {
      clock: mortal(clock, life),
      log,
      metrics,
      newId,
      ...carried.seams,
      ...(createActors && { createActors }),
      wrapStore: (store) => mortalStore(store, life, outstanding, () => this.isDatabaseBusy, events),
    });
    const { httpUrl } = await service.start();
    this.#life = {
      httpUrl,
      metrics,
      async kill() {
        life.isLiving = false;
        carried.end();
        // Only sockets and files remain to be closed, as the host does for a dead process.
        await service.stop();
      },
      async stop() {
        await service.stop();
        life.isLiving = false;
      },
    };
    await events.onBegan();
  }

  die(): (() => Promise<void>) | undefined {
    const dying = this.#life;
    this.#life = undefined;
    return dying && (() => dying.kill());
  }

  /** Stops the service as an operator does. */
  async stop(): Promise<void> {
    await this.#life?.stop();
  }

  async ask(question: Question, tenantUuid: string): Promise<RestAnswer> {
    const asked = this.#life;
    if (asked === undefined) return NO_ANSWER;
    const answer = await callService(asked.httpUrl, this.#options.keys.get(tenantUuid) ?? '', question, {
      ca: this.#ca,
    });
    return this.#life === asked ? answer : NO_ANSWER;
  }
}
