// All actors of the service with what drives them: the scheduler, the follower of rows, and the housekeeping of readings.
import { LINKS, THROTTLES } from '../../machines/connector.machine.js';
import { linkOf } from '../../machines/connector-control.js';
import { ALARM_KINDS } from '../../machines/grant.js';
import type { GrantTiming } from '../../machines/grant-ledger.js';
import type { Metrics } from '../metrics.js';
import type { Cancel, Clock } from '../ports/clock.js';
import type { CredentialSet } from '../ports/credentials.js';
import type { Log } from '../ports/log.js';
import type { Store } from '../ports/store.js';
import type { LimitPublisher, MeterSink } from '../ports/telemetry.js';
import { type Application, createApplication } from './application.js';
import { createAssembly } from './assembly.js';
import { createDirectory, type Effect } from './directory.js';
import { AlarmBook } from './enforcement/alarm-book.js';
import { Bookkeeping } from './enforcement/bookkeeping.js';
import { Enforcement } from './enforcement/enforcement.js';
import { PowerHistory } from './enforcement/power-history.js';
import { Reservations } from './enforcement/reservations.js';
import type { ConnectorEntity, LocationEntity, TimedEntity } from './entities.js';
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
  /** Once chargers can be reached, asks all to report: those that stayed at an external broker need not be waited for. */
  syncChargers(): void;
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
  readonly timing: GrantTiming;
  /** Of this service's grants: higher than that of any before it. */
  readonly epoch: number;
  readonly publisher: LimitPublisher;
  readonly powerRetentionDays: number;
  /** Another service claimed the database; this one must end. */
  onTakenOver(): void;
  /** Told of all credentials, at start and whenever they changed. */
  onCredentials(credentials: CredentialSet): void;
}

const HOUSEKEEPING_EVERY_MS = 1_000;

export function createActorSystem(options: ActorSystemOptions): ActorSystem {
  const { clock, store, log, metrics, newId, staleAfterMs, timing, epoch, publisher } = options;
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
      forEachLocation((location) => enforcement.decideSoon(location));
    },
  });
  // A counter that first appears as 1 has not risen, as Prometheus sees it: the first alarm would be missed.
  for (const kind of ALARM_KINDS) metrics.alarms.inc({ kind }, 0);
  const events = createEventStream(clock);
  const bookkeeping = new Bookkeeping({ clock, store, log });
  const alarms = new AlarmBook({
    clock,
    log,
    newId,
    write: (location, change) => bookkeeping.write(location.tenant.tenantUuid, change),
    onAlarm(location, alarm, what) {
      if (what === 'began') metrics.alarms.inc({ kind: alarm.kind });
      events.takeAlarm(location.tenant.tenantUuid, alarm);
    },
  });
  const enforcement = new Enforcement({
    ...{ clock, log, metrics, timing, publisher, alarms },
    missedAfterMs: staleAfterMs,
    reservations: new Reservations({ store, log, clock }),
    onGrant: (location, { control, grant }) => events.takeGrant(location, control.key, grant),
    onRoomMade: (location) => directory.roomMade(location),
  });
  const directory = createDirectory({
    clock,
    scheduler,
    onEffect(effect) {
      logEffect(log, effect);
      events.takeEffect(effect);
      enforcement.takeEffect(effect);
    },
    // A window that is only planned changes no limit yet, but what may be promised until then.
    onPlan: (location) => enforcement.decideSoon(location),
  });
  const assembly = createAssembly({
    ...{ clock, directory, staleAfterMs, timing, epoch, enforcement },
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
    onTakenOver() {
      // At once, whatever else takes its time to stop: chargers belong to the other one.
      enforcement.stop();
      options.onTakenOver();
    },
    onCredentials: options.onCredentials,
    onTenant(tenantUuid, state) {
      recovery.reconcile(tenantUuid, state, clock.nowMs());
      if (!areChargersReached) return;
      // What the charger of a connector that is new said of itself came before anybody knew the connector.
      for (const location of directory.tenant(tenantUuid)?.locations.values() ?? [])
        requestSync(location, ({ control }) => !control.holding.isDescribed);
    },
  });
  let cancelHousekeeping: Cancel | undefined;
  let areChargersReached = false;

  const powerHistory = new PowerHistory({
    ...{ clock, log, directory, bookkeeping, store },
    retentionDays: options.powerRetentionDays,
  });

  function forEachLocation(tell: (location: LocationEntity) => void): void {
    for (const tenant of directory.tenants.values())
      for (const location of tenant.locations.values()) tell(location);
  }

  /** Asks the chargers of these connectors to report. */
  function requestSync(location: LocationEntity, isAsked: (connector: ConnectorEntity) => boolean): void {
    const { tenantUuid } = location.tenant;
    const { locationId } = location.record;
    const asked = [...location.connectors.values()].filter(isAsked);
    for (const controllerUuid of new Set(asked.map(({ record }) => record.controllerUuid)))
      publisher.requestSync({ tenantUuid, locationId, controllerUuid }, epoch);
  }

  function countOpenAlarms(): void {
    const counts = new Map(ALARM_KINDS.map((kind) => [kind, 0]));
    forEachLocation(({ enforcement: { alarms: open } }) => {
      for (const { kind } of open.values()) counts.set(kind, (counts.get(kind) ?? 0) + 1);
    });
    for (const [kind, count] of counts) metrics.openAlarms.set({ kind }, count);
  }

  function sumPower(): void {
    const sumsW = { measured: 0, estimated: 0 };
    forEachLocation(({ meters, enforcement: { estimatedW = 0 } }) => {
      sumsW.measured += meters.measuredW;
      sumsW.estimated += estimatedW;
    });
    for (const source of ['measured', 'estimated'] as const) metrics.power.set({ source }, sumsW[source]);
  }

  function countModes(): void {
    const links = { online: 0, stale: 0, offline: 0 };
    const throttles = { free: 0, limited: 0, minimum: 0, paused: 0 };
    forEachLocation(({ connectors }) => {
      for (const { control } of connectors.values()) {
        const { link, throttle } = control.actor.getSnapshot().value;
        links[link]++;
        throttles[throttle]++;
      }
    });
    for (const link of LINKS) metrics.connectors.set({ link }, links[link]);
    for (const throttle of THROTTLES) metrics.throttledConnectors.set({ throttle }, throttles[throttle]);
  }

  let missedAtMs = Number.NEGATIVE_INFINITY;
  let askedAtMs = Number.NEGATIVE_INFINITY;

  function keepHouse(): void {
    const nowMs = clock.monotonicMs();
    forEachLocation((location) => expireReadings(directory, enforcement, location, nowMs));
    if (areChargersReached && nowMs - askedAtMs >= staleAfterMs) {
      askedAtMs = nowMs;
      // Its state was lost, or it sends none: until it comes, more is reserved for it than need be.
      forEachLocation((location) => requestSync(location, isStateMissing));
    }
    if (nowMs - missedAtMs >= timing.heartbeatMs) {
      missedAtMs = nowMs;
      forEachLocation((location) => enforcement.missSilent(location, nowMs));
    }
    countModes();
    countOpenAlarms();
    sumPower();
    cancelHousekeeping = clock.after(HOUSEKEEPING_EVERY_MS, keepHouse);
  }

  return {
    application: createApplication({
      clock,
      log,
      expireReadings: (location) => expireReadings(directory, enforcement, location, clock.monotonicMs()),
      store: readingAgainWhenUnknown(store, follower),
      archive: store,
      events,
      directory,
      assembly,
      clusterQueue: createEntityQueue(),
      newId,
    }),
    meterSink: createMeterSink(directory, enforcement, clock),
    overdueMs: () => scheduler.overdueMs(),
    syncChargers() {
      areChargersReached = true;
      forEachLocation((location) => requestSync(location, () => true));
      askedAtMs = clock.monotonicMs();
    },
    async start() {
      await follower.start();
      scheduler.start();
      enforcement.start();
      powerHistory.start();
      keepHouse();
    },
    async stop() {
      await follower.stop();
      scheduler.stop();
      enforcement.stop();
      cancelHousekeeping?.();
      powerHistory.stop();
      await bookkeeping.stop();
    },
  };
}

/** It speaks, and could say how it counts leases and what it falls back to, but has not been heard to. */
function isStateMissing({ control }: ConnectorEntity): boolean {
  return linkOf(control) === 'online' && control.hb !== undefined && !control.holding.isDescribed;
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
