// The parts of a world: clock and pace, chargers, wires and carrier, the service, the record and the checks.
import { longestLeaseMsOf } from '../../machines/power/grant.js';
import type { ChargerAddress } from '../../machines/values/ids.js';
import type { EpochMs } from '../../machines/values/time.js';
import type { Config } from '../../src/config.js';
import { createMetrics } from '../../src/metrics.js';
import type { Log } from '../../src/ports/log.js';
import type { TenantEntry } from '../../src/provisioning/provisioning-schema.js';
import { Checks } from '../checks/checks.js';
import { OperatorWatch } from '../checks/operator-watch.js';
import { fillSecrets } from '../scenario/fill-secrets.js';
import type { Building, GridLine } from '../scenario/scenario.js';
import { createVirtualClock, type VirtualClock } from '../virtual-clock.js';
import { BROKER_ENVIRONMENT, BrokerCarrier } from './broker-carrier.js';
import { CallBook } from './call-book.js';
import type { Carrier, CarrierEvents } from './carrier.js';
import { Connections, RECONNECT_MS } from './connections.js';
import { InProcessCarrier } from './in-process-carrier.js';
import { LimitOracle, type NewProfile } from './limit-oracle.js';
import { Outstanding } from './outstanding.js';
import { Pace } from './pace.js';
import { SiteImports } from './site-imports.js';
import { SitePower } from './site-power.js';
import { Supply } from './supply.js';
import { type ChargerEvents, WorldChargers } from './world-chargers.js';
import { makeWorldFolder } from './world-folder.js';
import { WorldGateway } from './world-gateway.js';
import { WorldNodes } from './world-nodes.js';
import type { WorldOptions } from './world-options.js';
import { configOf, keysOf, longestHorizonMs } from './world-provision.js';
import { WorldRecord } from './world-record.js';
import { authorityOf, type ServiceHost, WorldService } from './world-service.js';

/** Creates the parts in the order of their dependencies. `World` drives them. */
export class WorldParts {
  readonly tenants: readonly TenantEntry[];
  readonly dataDir = makeWorldFolder();
  readonly config: Config;
  readonly keys: ReadonlyMap<string, string>;
  readonly horizonMs: number;
  readonly seed: number;
  readonly clock: VirtualClock;
  readonly outstanding = new Outstanding();
  readonly pace: Pace;
  readonly record: WorldRecord;
  readonly oracle = new LimitOracle();
  readonly gateway: WorldGateway;
  readonly chargers: WorldChargers;
  readonly power: SitePower;
  readonly carrier: Carrier;
  readonly service: ServiceHost;
  /** The same object as `service`, if the service has several nodes. */
  readonly nodes: WorldNodes | undefined;
  readonly connections: Connections;
  readonly grid: readonly GridLine[];
  readonly imports: SiteImports;
  readonly operators: OperatorWatch;
  readonly book: CallBook;
  readonly checks: Checks;
  /** Numbers of messages that chargers and service exchanged: meter values, limits and acks. */
  readonly counts = { fromChargers: 0, toChargers: 0 };
  readonly #log: Log;

  constructor(options: WorldOptions) {
    const { seed, startMs, onEvent, transport = 'inProcess' } = options;
    this.seed = seed;
    this.tenants = fillSecrets({ tenants: [...options.tenants] }).tenants;
    this.keys = keysOf(this.tenants);
    const ofTransport = transport === 'mqtt' ? BROKER_ENVIRONMENT : {};
    this.config = configOf(this.dataDir, { ...options.environment, ...ofTransport });
    this.horizonMs = longestHorizonMs(this.tenants, this.config);
    this.clock = createVirtualClock(startMs);
    this.pace = new Pace(this.clock, this.outstanding);
    this.record = new WorldRecord(onEvent, () => this.clock.nowMs());
    this.#log = this.record.log(options.seams?.log);
    this.gateway = this.#createGateway();
    this.chargers = this.#createChargers(options);
    this.power = this.#createPower();
    this.grid = options.grid ?? [];
    this.imports = this.#createImports(options.buildings ?? []);
    this.carrier = this.#createCarrier(transport);
    const { config, keys, clock, outstanding } = this;
    const parts = { config, keys, clock, outstanding, log: this.#log };
    const { nodes: count, isSharded = false, seams } = options;
    const report = this.record.report.bind(this.record);
    const soon = this.pace.soon.bind(this.pace);
    this.nodes =
      count === undefined ? undefined : new WorldNodes({ ...parts, count, isSharded, report, soon });
    this.service = this.nodes ?? new WorldService({ ...parts, createActors: seams?.createActors });
    this.connections = this.#createConnections();
    this.book = this.#createBook();
    this.operators = new OperatorWatch({
      tenants: this.tenants,
      drawnW: (locationId) => this.power.drawnW(locationId),
      allowedW: (locationId, limitW) => this.checks.late.allowedW(locationId, limitW),
      nowMs: () => this.clock.nowMs(),
      horizonMs: this.horizonMs,
      isServiceUp: () => this.service.isUp,
      lockKw: (key, atMs) => this.oracle.lockKw(key, atMs),
      ask: (question, tenantUuid) => this.service.ask(question, tenantUuid),
      soon: (task) => this.pace.soon(task),
      at: (atMs, task) => this.pace.agenda.at(atMs - startMs, task),
      reached: this.#reached(),
      report: (violation) => this.record.report(violation),
    });
    this.checks = this.#createChecks(startMs, options.keepsMessages ?? false);
  }

  /** Events of chargers; their messages leave with the carrier. */
  chargerEvents(): ChargerEvents {
    return {
      said: ({ charger, wire }, message) => {
        this.counts.fromChargers++;
        this.checks.said(charger, message);
        this.carrier.say(wire, message);
      },
      changed: (run) => {
        this.power.noteChange(run);
        this.checks.changed(run);
      },
      visited: (charger, connectorId, note) => this.record.visit(charger, connectorId, note),
      brokerSideOf: (run) => this.connections.brokerSideOf(run),
      settle: () => this.pace.soon(async () => {}),
    };
  }

  /** Includes the chargers that exist by now. */
  createSupply(line: GridLine): Supply {
    return new Supply({
      line,
      runs: this.chargers.runs,
      agenda: this.pace.agenda,
      tracer: this.record.tracer,
      nowMs: () => this.clock.nowMs(),
      monotonicMs: () => this.clock.monotonicMs(),
    });
  }

  #createImports(buildings: readonly Building[]): SiteImports {
    return new SiteImports({
      tenants: this.tenants,
      buildings,
      seed: this.seed,
      agenda: this.pace.agenda,
      nowMs: () => this.clock.nowMs(),
      monotonicMs: () => this.clock.monotonicMs(),
      drawnW: (locationId) => this.power.watch.powerW(locationId),
      horizonMs: this.horizonMs,
      say: (topic, message) => this.service.isUp && this.carrier.receiveOfSite(topic, message),
      reached: this.#reached(),
      report: (violation) => this.record.report(violation),
    });
  }

  /** Delegates to the checks, which are created last. */
  #reached(): Pick<Checks['reached'], 'note'> {
    return { note: (branch) => this.checks.reached.note(branch) };
  }

  #createGateway(): WorldGateway {
    const gateway = new WorldGateway({
      tenants: this.tenants,
      heartbeatMs: 1000 * this.config.heartbeatS,
      clock: this.clock,
      log: this.#log,
    });
    gateway.start();
    return gateway;
  }

  #createChargers({ visitorsOf, traitsOf, ocppOf }: WorldOptions): WorldChargers {
    const { gateway, clock, seed } = this;
    return new WorldChargers({
      gateway,
      clock,
      seed,
      visitorsOf,
      traitsOf,
      ocppOf,
      agenda: this.pace.agenda,
    });
  }

  #createPower(): SitePower {
    return new SitePower({
      tenants: this.tenants,
      oracle: this.oracle,
      runs: this.chargers.runs,
      tracer: this.record.tracer,
      nowMs: () => this.clock.nowMs(),
      monotonicMs: () => this.clock.monotonicMs(),
      onViolation: (violation) => this.record.violate(violation),
    });
  }

  #createCarrier(transport: 'inProcess' | 'mqtt'): Carrier {
    const events = this.#carrierEvents();
    const wireOf = (charger: ChargerAddress) => this.chargers.wireOf(charger);
    if (transport === 'inProcess')
      return new InProcessCarrier({
        wireOf,
        clock: this.clock,
        log: this.#log,
        metrics: createMetrics(),
        events,
      });
    return new BrokerCarrier({
      tenants: this.tenants,
      ca: authorityOf(this.config),
      wireOf,
      topicsOf: (charger) => this.chargers.topicsOf(charger),
      monotonicMs: () => this.clock.monotonicMs(),
      outstanding: this.outstanding,
      log: this.#log,
      events,
    });
  }

  #carrierEvents(): CarrierEvents {
    return {
      limitLeft: (connector, limit) => {
        this.counts.toChargers++;
        this.checks.limitLeft(connector, limit);
        this.record.tracer?.granted(connector, limit);
      },
      received: (from, message) => {
        if (this.service.isListening) this.checks.received(from, message);
      },
      cutOff: (charger) => {
        const run = this.chargers.find(charger);
        if (run === undefined) return;
        this.connections.cut(run);
        this.connections.connectLater(run, RECONNECT_MS);
      },
    };
  }

  #createConnections(): Connections {
    return new Connections({
      agenda: this.pace.agenda,
      monotonicMs: () => this.clock.monotonicMs(),
      runs: this.chargers.runs,
      carrier: this.carrier,
      soon: (task) => this.pace.soon(task),
      onChange: (run) => this.power.noteChange(run),
      isServiceUp: () => this.service.isUp || !this.service.hasBroker,
    });
  }

  #createBook(): CallBook {
    return new CallBook({
      oracle: this.oracle,
      watch: this.power.watch,
      horizonMs: this.horizonMs,
      nowMs: () => this.clock.nowMs(),
      events: {
        profile: (target, profile) => this.#submitted(target, profile),
        cancelled: (target, priority) => this.record.profileCancelled(target, priority),
        changed: (locationIds) => {
          for (const locationId of locationIds) {
            this.power.look(locationId);
            this.#lookAgainAt(locationId, this.clock.nowMs() + this.horizonMs);
          }
        },
      },
    });
  }

  #lookAgainAt(locationId: string, atMs: EpochMs): void {
    if (!this.oracle.locationIds.includes(locationId) || atMs <= this.clock.nowMs()) return;
    this.pace.agenda.at(this.clock.monotonicMs() + atMs - this.clock.nowMs(), () =>
      this.power.look(locationId),
    );
  }

  #submitted(target: string, { startTime, endTime, limitKw, priority = 0 }: NewProfile): void {
    const profile = { startTime, endTime, limitKw, priority };
    this.record.profile(target, profile);
    for (const at of [startTime, endTime]) this.#lookAgainAt(target, Date.parse(at));
    this.checks.submitted(target, profile);
  }

  #createChecks(startMs: EpochMs, keepsMessages: boolean): Checks {
    const carrier = this.carrier;
    const { heartbeatS, leaseTtlS, settleS } = this.config;
    return new Checks({
      tenants: this.tenants,
      oracle: this.oracle,
      watch: this.power.watch,
      book: this.book,
      runs: this.chargers.runs,
      ask: (question, tenantUuid) => this.service.ask(question, tenantUuid),
      report: (violation) => this.record.report(violation),
      monotonicMs: () => this.clock.monotonicMs(),
      wallMs: () => this.clock.nowMs(),
      keepsMessages,
      times: {
        leaseMs: longestLeaseMsOf({ ttlMs: 1000 * leaseTtlS }),
        settleMs: 1000 * settleS,
        heartbeatMs: 1000 * heartbeatS,
      },
      soon: (task) => this.pace.soon(task),
      at: (atMs, task) => this.pace.agenda.at(atMs - startMs, task),
      deliver: carrier.sayAgain && ((run, message) => carrier.sayAgain?.(run.wire, message)),
      pendingTimers: () => this.clock.pendingTimers(),
      waiting: () => this.pace.agenda.length,
      metrics: () => this.service.metrics,
      stoodStill: () => this.nodes?.stoodStill === true,
      operatorW: (locationId) => this.operators.leastW(locationId),
      areOrdersExpected: (locationId) => this.operators.areOrdersExpected(locationId),
      shards: this.nodes?.shards ?? 0,
    });
  }
}
