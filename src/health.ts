// The health of the service for a probe.
import { SHARDS, type Shard } from '../machines/values/shards.js';
import type { Clock } from './ports/clock.js';
import type { ClusterView } from './ports/shared-database.js';
import type { Store } from './ports/store.js';
import type { MessageBus } from './ports/telemetry.js';
import type { Health } from './wire/health.js';

// A probe may come often: a test write to the database happens at most this often.
const PING_EVERY_MS = 1_000;
// A probe waits no longer than this for a database that may be locked: most probes give up after a few seconds.
const ANSWER_WITHIN_MS = 1_500;
// A boundary this late means that the scheduler does not get to run.
const SCHEDULER_LATE_MS = 5_000;

/** Checks that the database takes writes, at most once a second for any number of callers. */
class DatabaseProbe {
  readonly #clock: Clock;
  readonly #store: Pick<Store, 'ping'>;
  #askedAtMs = Number.NEGATIVE_INFINITY;
  #isPending = false;
  #answer: Promise<boolean> = Promise.resolve(true);

  constructor(clock: Clock, store: Pick<Store, 'ping'>) {
    this.#clock = clock;
    this.#store = store;
  }

  /** Does not reject; a database that does not answer in time is not well. */
  isWell(): Promise<boolean> {
    const nowMs = this.#clock.monotonicMs();
    if (!this.#isPending && nowMs - this.#askedAtMs >= PING_EVERY_MS) {
      this.#askedAtMs = nowMs;
      this.#isPending = true;
      this.#answer = this.#ask();
    }
    return this.#isPending ? this.#inTime(this.#answer) : this.#answer;
  }

  async #ask(): Promise<boolean> {
    try {
      await this.#store.ping();
      return true;
    } catch {
      return false;
    } finally {
      this.#isPending = false;
    }
  }

  #inTime(answer: Promise<boolean>): Promise<boolean> {
    return new Promise((resolve) => {
      const cancel = this.#clock.after(ANSWER_WITHIN_MS, () => resolve(false));
      void answer.then((isWell) => {
        cancel();
        resolve(isWell);
      });
    });
  }
}

/** Returns a function to the present health of the parts; it does not reject. */
export function createHealth(options: {
  readonly clock: Clock;
  readonly store: Pick<Store, 'ping'>;
  readonly broker: Pick<MessageBus, 'isHealthy'>;
  readonly overdueMs: () => number;
  readonly version: string;
  /** Left out of the answer if undefined. */
  readonly role?: 'active' | undefined;
  /** For a node that shares the tenants with others. */
  readonly sharing?: { isClockOff(): boolean; held(): readonly Shard[] };
}): () => Promise<Health> {
  const { clock, store, broker, version, role, sharing } = options;
  const startedMs = clock.monotonicMs();
  const database = new DatabaseProbe(clock, store);
  const word = (isWell: boolean): 'ok' | 'failing' => (isWell ? 'ok' : 'failing');
  return async () => {
    const checks = {
      database: word(await database.isWell()),
      broker: word(broker.isHealthy()),
      scheduler: word(options.overdueMs() < SCHEDULER_LATE_MS),
      ...(sharing && { clock: word(!sharing.isClockOff()) }),
    } as const;
    const isWell = Object.values(checks).every((check) => check === 'ok');
    const uptimeSeconds = Math.round((clock.monotonicMs() - startedMs) / 1000);
    return {
      status: isWell ? 'ok' : 'degraded',
      version,
      uptimeSeconds,
      ...(role && { role }),
      ...(sharing && { shards: { held: [...sharing.held()], of: SHARDS } }),
      checks,
    };
  };
}

/** The health of a front. */
export function createFrontHealth(options: {
  readonly clock: Clock;
  readonly broker: Pick<MessageBus, 'isHealthy'>;
  readonly bus: Pick<MessageBus, 'isHealthy'>;
  readonly version: string;
}): () => Health {
  const { clock, broker, bus, version } = options;
  const startedMs = clock.monotonicMs();
  const word = (isWell: boolean) => (isWell ? 'ok' : 'failing');
  return () => {
    const isWell = broker.isHealthy() && bus.isHealthy();
    const uptimeSeconds = Math.round((clock.monotonicMs() - startedMs) / 1000);
    const checks = { broker: word(broker.isHealthy()), bus: word(bus.isHealthy()) } as const;
    return { status: isWell ? 'ok' : 'degraded', version, uptimeSeconds, role: 'front', checks };
  };
}

/** The health of a standby node. It is degraded if the node could not become the active one. */
export function createStandbyHealth(options: {
  readonly clock: Clock;
  /** Reads the owner; rejects without the database. */
  readonly look: () => Promise<ClusterView>;
  readonly isClockOff: () => boolean;
  /** The node will soon stop forwarding, and will not become active. */
  readonly isStopping: () => boolean;
  readonly version: string;
}): () => Promise<Health> {
  const { clock, look, isClockOff, isStopping, version } = options;
  const startedMs = clock.monotonicMs();
  const word = (isWell: boolean) => (isWell ? 'ok' : 'failing');
  return async () => {
    const view = await look().catch(() => undefined);
    const isWell = view !== undefined && !isClockOff() && !isStopping();
    const uptimeSeconds = Math.round((clock.monotonicMs() - startedMs) / 1000);
    const checks = {
      database: word(view !== undefined),
      active: word(view?.holders.some((holder) => holder !== undefined) === true),
      clock: word(!isClockOff()),
    } as const;
    return { status: isWell ? 'ok' : 'degraded', version, uptimeSeconds, role: 'standby', checks };
  };
}
