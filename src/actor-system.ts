// All actors of the service with the parts that drive them: the
// scheduler, the row change watcher and the liveness sweep.
import { ALARM_KINDS, type GrantTiming } from '../machines/ledger/grant.js';
import type { Policy } from '../machines/policy/policies.js';
import type { LocationId, TenantUuid } from '../machines/values/ids.js';
import { Assembly } from './actors/assembly.js';
import { ChangeSignal, type Core, createEntityQueue, findLocation, findTenant } from './actors/core.js';
import {
  buildingLoadOf,
  Directory,
  type DirectoryListener,
  type Effect,
  type LocationEntity,
  type Tenant,
  type TimedEntity,
} from './actors/directory.js';
import { Overload } from './actors/overload.js';
import { createRecovery, type Recovery } from './actors/recovery.js';
import { type RowChangeListener, RowChangeWatcher } from './actors/row-change-watcher.js';
import { Scheduler, type SchedulerListener } from './actors/scheduler.js';
import { BatchedWrites } from './enforcement/batched-writes.js';
import { Enforcement } from './enforcement/enforcement.js';
import { LivenessSweep } from './enforcement/liveness-sweep.js';
import { measureWhenAsked, sendToOverload } from './enforcement/measure.js';
import { OpenAlarms } from './enforcement/open-alarms.js';
import { Reservations } from './enforcement/reservations.js';
import { ConnectorTelemetryHandler, expireReadings } from './enforcement/telemetry-handler.js';
import type { Application } from './features/application.js';
import { ChargerWatch } from './features/chargers/charger-watch.js';
import { DepartureWatch } from './features/departures/plan.js';
import { EnergyRetention } from './features/energy/energy.js';
import { isEvent } from './features/event-log.js';
import { PowerHistory } from './features/power-history/power-history.js';
import { SessionBook } from './features/sessions/sessions.js';
import { SITE_MESSAGES } from './features/site-messages.js';
import { createEventStream } from './features/stream-views.js';
import type { Metrics } from './metrics.js';
import type { Clock } from './ports/clock.js';
import type { CredentialSet } from './ports/credentials.js';
import type { Log } from './ports/log.js';
import { type Store, StoreUnavailableError } from './ports/store.js';
import type { LimitPublisher, TelemetryHandler } from './ports/telemetry.js';

export interface ActorSystem {
  readonly application: Application;
  readonly telemetryHandler: TelemetryHandler;
  /** Milliseconds by which the oldest waiting boundary is overdue. */
  overdueMs(): number;
  /** The processor is so short that read requests are refused. */
  areReadsRefused(): boolean;
  /**
   * Call it once chargers can be reached: all are asked to report. So the service need not wait
   * for chargers that stayed at an external broker.
   */
  syncChargers(): void;
  /** The running location, to read its present state; undefined if there is none. */
  location(tenantUuid: TenantUuid, locationId: LocationId): LocationEntity | undefined;
  /** Requests that wait for an event are answered at once from now on. */
  endWaits(): void;
  /** Builds every actor from rows; resolves when all of them are complete. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

interface ActorSystemOptions {
  readonly clock: Clock;
  readonly store: Store;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly newId: () => string;
  readonly timing: GrantTiming;
  /** Ownership term in this service's grants, higher than any before. */
  readonly ownerTerm: number;
  readonly publisher: LimitPublisher;
  readonly powerRetentionDays: number;
  readonly energyRetentionDays: number;
  readonly connectorPowerRetentionDays: number;
  /** Shortest loss of a charger in the event log. */
  readonly chargerOfflineMs: number;
  /** Replaces the policies of all locations; the simulator alone has one. */
  readonly policy?: Policy | undefined;
  /** Another service claimed the database; this one must end. */
  onTakenOver(): void;
  /** Called after each change that may have an event; without a tenant, any may have changed. */
  readonly onChange?: (tenantUuid?: TenantUuid) => void;
  /** Called after each change of the tenant's webhooks, and of their dead letters. */
  readonly onWebhooks?: (tenantUuid: TenantUuid) => void;
  /** The rule that the URL of a webhook breaks. A replay leaves it out: the recorded answers are known. */
  readonly urlProblem?: (url: string) => string | undefined;
  /** The service has a mail server. A replay leaves it out, too. */
  readonly isMailOn?: boolean;
  /** Called with a tenant once its actors follow its rows, at the start and after each change. */
  readonly onSites?: (tenant: Tenant) => void;
  /** Called with all credentials, at the start and after each change. */
  onCredentials(credentials: CredentialSet): void;
}

// Entities that receive a boundary at once, so that requests get an answer in between if thousands are due together.
const BOUNDARIES_AT_ONCE = 1_000;
// A forward jump of the wall clock is noticed within this time.
const LOOK_EVERY_MS = 1_000;

export function createActorSystem(options: ActorSystemOptions): ActorSystem {
  return new LiveActorSystem(options);
}

class LiveActorSystem implements ActorSystem {
  readonly application: Application;
  readonly telemetryHandler: TelemetryHandler;
  readonly #options: ActorSystemOptions;
  readonly #scheduler: Scheduler<TimedEntity>;
  readonly #directory: Directory;
  readonly #events: ReturnType<typeof createEventStream>;
  readonly #bookkeeping: BatchedWrites;
  #operatorChanges = 0;
  readonly #overload: Overload;
  readonly #enforcement: Enforcement;
  readonly #follower: RowChangeWatcher;
  readonly #recovery: Recovery;
  readonly #powerHistory: PowerHistory;
  readonly #sessions: SessionBook;
  readonly #energyRetention: EnergyRetention;
  readonly #departures: DepartureWatch;
  readonly #chargers: ChargerWatch;
  readonly #housekeeping: LivenessSweep;
  readonly #changes: ChangeSignal;
  readonly #alarms: OpenAlarms;
  #stopMeasuring = () => {};

  constructor(options: ActorSystemOptions) {
    const { clock, log, newId } = options;
    this.#changes = new ChangeSignal(clock, options.onChange ?? (() => {}));
    const store = ringing(options.store, this.#changes, options.onWebhooks);
    this.#options = { ...options, store };
    this.#scheduler = new Scheduler(clock, 'wall');
    this.#directory = new Directory(clock, this.#scheduler);
    this.#events = createEventStream(clock);
    this.#bookkeeping = new BatchedWrites({ clock, store, log });
    this.#sessions = new SessionBook({
      clock,
      directory: this.#directory,
      bookkeeping: this.#bookkeeping,
    });
    this.#overload = new Overload((state) => sendToOverload(options, state));
    const alarms = this.#createAlarms();
    this.#alarms = alarms;
    this.#enforcement = this.#createEnforcement(alarms);
    this.#departures = new DepartureWatch({ clock, log, directory: this.#directory, alarms });
    this.#chargers = new ChargerWatch({
      clock,
      directory: this.#directory,
      bookkeeping: this.#bookkeeping,
      offlineAfterMs: options.chargerOfflineMs,
    });
    this.#directory.listen(this.#directoryListener());
    this.#follower = new RowChangeWatcher({ clock, store, log });
    const assembly = this.#createAssembly();
    this.#recovery = createRecovery(this.#directory, assembly);
    this.#powerHistory = new PowerHistory({
      clock,
      log,
      directory: this.#directory,
      bookkeeping: this.#bookkeeping,
      store,
      retentionDays: options.powerRetentionDays,
      connectorRetentionDays: options.connectorPowerRetentionDays,
    });
    this.#energyRetention = new EnergyRetention({
      clock,
      log,
      store,
      retentionDays: options.energyRetentionDays,
    });
    this.#housekeeping = new LivenessSweep({
      ...options,
      directory: this.#directory,
      enforcement: this.#enforcement,
      overload: this.#overload,
    });
    const core: Core = {
      clock,
      log,
      written: (tenantUuid) => this.#bookkeeping.written(tenantUuid),
      expireReadings: (location) =>
        expireReadings(this.#directory, this.#enforcement, location, clock.monotonicMs()),
      store: { append: this.#append },
      read: store.read,
      directory: this.#directory,
      alarms,
      assembly,
      clusterQueue: createEntityQueue(),
      newId,
      urlProblem: options.urlProblem ?? (() => undefined),
      isMailOn: options.isMailOn ?? true,
      changes: this.#changes,
    };
    this.application = {
      answer: (operation, asked) => operation.handle(core, asked),
      subscribe: (tenantUuid, locationText, listener) => {
        const location =
          locationText === undefined ? undefined : findLocation(this.#directory, tenantUuid, locationText);
        return this.#events.subscribe(findTenant(this.#directory, tenantUuid), location, listener);
      },
    };
    this.telemetryHandler = new ConnectorTelemetryHandler({
      clock,
      directory: this.#directory,
      enforcement: this.#enforcement,
      receiveSite: (kind, location, message) => SITE_MESSAGES[kind].receive(core, location, message),
    });
  }

  overdueMs(): number {
    return this.#scheduler.overdueMs();
  }

  areReadsRefused(): boolean {
    return this.#overload.areReadsRefused;
  }

  syncChargers(): void {
    this.#housekeeping.syncChargers();
  }

  location(tenantUuid: TenantUuid, locationId: LocationId): LocationEntity | undefined {
    return this.#directory.tenants.get(tenantUuid)?.locations.get(locationId);
  }

  endWaits(): void {
    this.#changes.close();
  }

  async start(): Promise<void> {
    await this.#follower.start(this.#followerListener());
    this.#scheduler.start(this.#schedulerListener());
    this.#enforcement.start();
    this.#powerHistory.start();
    this.#energyRetention.start();
    this.#sessions.start();
    this.#departures.start();
    this.#chargers.start();
    this.#stopMeasuring = measureWhenAsked(this.#options.metrics, () => this.#locations());
    this.#housekeeping.start();
  }

  async stop(): Promise<void> {
    await this.#follower.stop();
    this.#scheduler.stop();
    this.#enforcement.stop();
    this.#alarms.stop();
    this.#housekeeping.stop();
    this.#powerHistory.stop();
    this.#energyRetention.stop();
    this.#sessions.stop();
    this.#departures.stop();
    this.#chargers.stop();
    // They belong to another node now: two nodes would count each of them twice.
    this.#stopMeasuring();
    await this.#bookkeeping.stop();
  }

  /** After a write with an unknown outcome, its tenant's rows are read again. */
  readonly #append: Store['append'] = (tenantUuid, changes, by) =>
    this.#options.store.append(tenantUuid, changes, by).catch((error) => {
      const isUnknown = error instanceof StoreUnavailableError && error.isOutcomeUnknown;
      if (isUnknown) this.#follower.readAgain(tenantUuid);
      throw error;
    });

  #createAlarms(): OpenAlarms {
    const { clock, log, metrics, newId } = this.#options;
    // Prometheus detects no increase in a counter that first appears as 1, so each starts at 0.
    for (const kind of ALARM_KINDS) metrics.alarms.inc({ kind }, 0);
    return new OpenAlarms({
      clock,
      log,
      newId,
      write: (location, change) => this.#bookkeeping.write(location.tenant.tenantUuid, change),
      onAlarm: (location, alarm, what) => {
        if (what === 'began') metrics.alarms.inc({ kind: alarm.kind });
        this.#events.onAlarm(location.tenant.tenantUuid, alarm);
      },
    });
  }

  #createEnforcement(alarms: OpenAlarms): Enforcement {
    const { clock, store, log } = this.#options;
    return new Enforcement({
      ...this.#options,
      directory: this.#directory,
      overload: this.#overload,
      alarms,
      reservations: new Reservations({ store, log, clock }),
      onGrant: (location, { connector, grant }) => this.#events.onGrant(location, connector.key, grant),
      onSessionsEnded: (connector) => this.#sessions.record(connector),
      onDefect: this.#onDefect,
    });
  }

  readonly #onDefect = (tenantUuid: TenantUuid, error: unknown): void => {
    const { log, metrics } = this.#options;
    metrics.actorsRebuilt.inc();
    log.error({ err: error, tenantUuid }, 'an actor failed; it is rebuilt from its rows');
    this.#follower.readAgain(tenantUuid);
  };

  #createAssembly(): Assembly {
    const { clock, timing, ownerTerm, policy } = this.#options;
    const onDefect = this.#onDefect;
    return new Assembly({ clock, directory: this.#directory, timing, ownerTerm, policy, onDefect });
  }

  #directoryListener(): DirectoryListener {
    return {
      onEffect: (effect) => {
        logEffect(this.#options.log, effect);
        this.#keepOperatorLimit(effect);
        this.#events.onEffect(effect);
        this.#enforcement.onEffect(effect);
      },
      // A planned window changes no limit yet, but limits the power that may be granted until then.
      onPlan: (location) => this.#enforcement.decideSoon(location),
    };
  }

  #keepOperatorLimit({ entity, effect }: Effect): void {
    if (entity.kind !== 'location' || effect.type !== 'operator.changed') return;
    const { tenantUuid } = entity.tenant;
    const { standing } = effect;
    const { locationId } = entity.record;
    this.#options.log.info({ tenantUuid, locationId, ...standing }, "the grid operator's limit changed");
    const event = { ...standing, locationId, recordedAtMs: this.#options.clock.nowMs() };
    this.#bookkeeping.write(tenantUuid, { kind: 'operator.put', event, nth: this.#operatorChanges++ });
  }

  #schedulerListener(): SchedulerListener<TimedEntity> {
    const { log, metrics } = this.#options;
    return {
      atMost: BOUNDARIES_AT_ONCE,
      lookEveryMs: LOOK_EVERY_MS,
      onDue: (due, now, lateMs) => {
        metrics.boundaryLagSeconds.observe(lateMs / 1000);
        this.#directory.tellBoundaries([...due], now);
      },
      onClockJump: (byMs, now) => {
        metrics.clockJumps.inc({ direction: byMs > 0 ? 'forward' : 'back' });
        log.warn({ byMs }, 'the wall clock jumped');
        for (const location of this.#locations()) {
          buildingLoadOf(location)?.shift(byMs);
          location.actor.getSnapshot().context.billedWindow?.restart(now);
        }
        if (byMs < 0) this.#recovery.rebuildAll(now);
        for (const location of this.#locations()) this.#enforcement.decideSoon(location);
      },
    };
  }

  #followerListener(): RowChangeListener {
    const { clock, onTakenOver, onCredentials, onSites } = this.#options;
    return {
      onTakenOver: () => {
        // At once, however long the rest takes to stop: the chargers belong to the other service.
        this.#enforcement.stop();
        onTakenOver();
      },
      onCredentials: (credentials) => {
        onCredentials(credentials);
        this.#changes.ringAll();
      },
      onTenant: (tenantUuid, state) => {
        this.#changes.ring(tenantUuid);
        const isNew = this.#directory.tenants.get(tenantUuid) === undefined;
        this.#recovery.reconcile(tenantUuid, state, clock.nowMs());
        const tenant = this.#directory.tenants.get(tenantUuid);
        // For a tenant that is new to this process, the stored open alarms
        // are loaded. Later ones are in memory already.
        if (isNew && tenant !== undefined) {
          this.#enforcement.openAlarms(tenant, state);
          this.#chargers.restore(tenantUuid, state.offlineChargers);
        }
        this.#housekeeping.syncNew(tenant);
        if (tenant !== undefined) onSites?.(tenant);
      },
    };
  }

  *#locations(): Iterable<LocationEntity> {
    for (const tenant of this.#directory.tenants.values()) yield* tenant.locations.values();
  }
}

/** The same store; its events wake the requests that wait for them, and its changes of webhooks their deliveries. */
function ringing(
  store: Store,
  changes: ChangeSignal,
  onWebhooks: ActorSystemOptions['onWebhooks'] = () => {},
): Store {
  return {
    ...store,
    async append(tenantUuid, written, by) {
      try {
        await store.append(tenantUuid, written, by);
      } finally {
        // After a failure, too: the changes may be on disk.
        if (written.some(isEvent)) changes.ring(tenantUuid);
        if (written.some(({ kind }) => OF_WEBHOOKS.has(kind))) onWebhooks(tenantUuid);
      }
    },
  };
}

const OF_WEBHOOKS: ReadonlySet<string> = new Set(['webhook.put', 'webhook.delete', 'webhook.replay']);

/** Logs effects of actors at level debug. */
function logEffect(log: Log, { entity, effect }: Effect): void {
  const { tenantUuid } = entity.tenant;
  if (entity.kind === 'location')
    log.debug({ tenantUuid, locationId: entity.record.locationId, ...effect }, 'effect');
  else log.debug({ tenantUuid, clusterId: entity.record.clusterId, ...effect }, 'effect');
}
