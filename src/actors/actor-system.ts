// All actors of the service with what drives them: the scheduler, the follower of rows, and the housekeeping of readings.
import type { Metrics } from '../metrics.js';
import type { Cancel, Clock } from '../ports/clock.js';
import type { CredentialSet } from '../ports/credentials.js';
import type { Log } from '../ports/log.js';
import type { Store } from '../ports/store.js';
import type { MeterSink } from '../ports/telemetry.js';
import { type Application, createApplication } from './application.js';
import { createAssembly } from './assembly.js';
import { createDirectory, type Effect } from './directory.js';
import type { TimedEntity } from './entities.js';
import { createEntityQueue } from './entity-queue.js';
import { createEventStream } from './event-stream.js';
import { createFollower } from './follower.js';
import { createMeterSink, expireReadings } from './meter-sink.js';
import { createRecovery } from './recovery.js';
import { createScheduler } from './scheduler.js';
import { readingAgainWhenUnknown } from './uncertain-writes.js';

export interface ActorSystem {
  readonly application: Application;
  readonly meterSink: MeterSink;
  /** Milliseconds by which the oldest waiting boundary is overdue. */
  overdueMs(): number;
  /** Builds every actor from rows; resolves when all of them are right. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

interface ActorSystemOptions {
  readonly clock: Clock;
  readonly store: Store;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly newId: () => string;
  /** A connector that sends nothing for this long is stale. */
  readonly staleAfterMs: number;
  /** Another service claimed the database; this one must end. */
  onTakenOver(): void;
  /** Told of all credentials, at start and whenever they changed. */
  onCredentials(credentials: CredentialSet): void;
}

const HOUSEKEEPING_EVERY_MS = 1_000;

export function createActorSystem(options: ActorSystemOptions): ActorSystem {
  const { clock, store, log, metrics, newId, staleAfterMs } = options;
  const scheduler = createScheduler<TimedEntity>({
    clock,
    onDue(entities, now, lateMs) {
      metrics.boundaryLagSeconds.observe(lateMs / 1000);
      directory.tellBoundaries(entities, now);
    },
    onClockJump(byMs, now) {
      metrics.clockJumps.inc({ direction: byMs > 0 ? 'forward' : 'back' });
      log.warn({ byMs }, 'the wall clock jumped');
      if (byMs < 0) recovery.rebuildAll(now);
    },
  });
  const events = createEventStream(clock);
  const directory = createDirectory({
    clock,
    scheduler,
    onEffect(effect) {
      logEffect(log, effect);
      events.takeEffect(effect);
    },
  });
  const assembly = createAssembly({
    directory,
    staleAfterMs,
    onDefect(tenantUuid, error) {
      metrics.actorsRebuilt.inc();
      log.error({ err: error, tenantUuid }, 'an actor failed; it is built again from its rows');
      follower.readAgain(tenantUuid);
    },
  });
  const recovery = createRecovery(directory, assembly);
  const follower = createFollower({
    clock,
    store,
    log,
    onTakenOver: options.onTakenOver,
    onCredentials: options.onCredentials,
    onTenant: (tenantUuid, state) => recovery.reconcile(tenantUuid, state, clock.nowMs()),
  });
  let cancelHousekeeping: Cancel | undefined;

  function keepHouse(): void {
    const counts = expireReadings(directory, clock.monotonicMs());
    for (const link of ['online', 'stale', 'offline'] as const)
      metrics.connectors.set({ link }, counts[link]);
    cancelHousekeeping = clock.after(HOUSEKEEPING_EVERY_MS, keepHouse);
  }

  return {
    application: createApplication({
      clock,
      store: readingAgainWhenUnknown(store, follower),
      archive: store,
      events,
      directory,
      assembly,
      clusterQueue: createEntityQueue(),
      newId,
    }),
    meterSink: createMeterSink(directory),
    overdueMs: () => scheduler.overdueMs(),
    async start() {
      await follower.start();
      scheduler.start();
      keepHouse();
    },
    async stop() {
      await follower.stop();
      scheduler.stop();
      cancelHousekeeping?.();
    },
  };
}

/** What the actors did, for whoever wants to follow it closely. */
function logEffect(log: Log, { entity, effect }: Effect): void {
  const tenantUuid = entity.kind === 'organization' ? entity.tenantUuid : entity.tenant.tenantUuid;
  if (entity.kind === 'location')
    log.debug({ tenantUuid, locationId: entity.record.locationId, ...effect }, 'effect');
  else if (entity.kind === 'cluster')
    log.debug({ tenantUuid, clusterId: entity.record.clusterId, ...effect }, 'effect');
  else log.debug({ tenantUuid, ...effect }, 'effect');
}
