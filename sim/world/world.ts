// A simulated world: the production service on a virtual clock, its chargers, the wires between them, and what is checked.
import { rmSync } from 'node:fs';
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import { horizonMsOf, longestLeaseMsOf } from '../../machines/power/grant.js';
import type { ChargerAddress, ConnectorId } from '../../machines/values/ids.js';
import type { EpochMs } from '../../machines/values/time.js';
import type { Config } from '../../src/config.js';
import { createMetrics } from '../../src/metrics.js';
import type { Log } from '../../src/ports/log.js';
import type { Change } from '../../src/ports/store.js';
import type { TenantEntry } from '../../src/provisioning/provisioning-schema.js';
import type { Seams } from '../../src/service.js';
import type { CarNote } from '../charger/outlet.js';
import type { ChargerTraits } from '../charger/traits.js';
import type { Visitors } from '../charger/virtual-connector.js';
import { Checks } from '../checks/checks.js';
import { fillSecrets } from '../scenario/fill-secrets.js';
import type { GridLine } from '../scenario/scenario.js';
import type { FaultKind, TraceEvent } from '../trace/trace-event.js';
import { createVirtualClock, type VirtualClock } from '../virtual-clock.js';
import type { Agenda } from './agenda.js';
import { AlarmNotes } from './alarm-notes.js';
import { BROKER_ENVIRONMENT, BrokerCarrier } from './broker-carrier.js';
import { CallBook } from './call-book.js';
import type { Carrier, CarrierEvents } from './carrier.js';
import type { ChargerRun } from './charger-run.js';
import { Connections, RECONNECT_MS } from './connections.js';
import { HandOver } from './hand-over.js';
import { LimitOracle, type NewProfile } from './limit-oracle.js';
import { Outstanding } from './outstanding.js';
import { Pace } from './pace.js';
import type { PowerWatch, Violation } from './power-watch.js';
import type { RestAnswer } from './rest-client.js';
import type { CommitFate } from './service-life.js';
import { SitePower } from './site-power.js';
import { Supply } from './supply.js';
import { Tracer } from './tracer.js';
import { type ChargerEvents, WorldChargers } from './world-chargers.js';
import { makeWorldFolder } from './world-folder.js';
import { configOf, keysOf, provisionWorld } from './world-provision.js';
import { authorityOf, NO_ANSWER, WorldService } from './world-service.js';

export interface WorldOptions {
  readonly tenants: readonly TenantEntry[];
  readonly seed: number;
  readonly startMs: EpochMs;
  /** Who comes to the charger's connectors; times of cars are ms since the start of the world. */
  readonly visitorsOf: (charger: ChargerAddress) => Visitors;
  /** Of each charger, drawn or given; what is not given is honest. */
  readonly traitsOf?: (charger: ChargerAddress, random: RandomGenerator) => Partial<ChargerTraits>;
  /** What feeds its locations; those on no line have the voltage of their rating. */
  readonly grid?: readonly GridLine[];
  /** Settings of the service as environment variables. */
  readonly environment?: Readonly<Record<string, string>>;
  /**
   * What carries the messages: the objects themselves within the process, or their bytes through the production's broker.
   * The same seed goes the same way with both.
   */
  readonly transport?: 'inProcess' | 'mqtt';
  /** Told of everything that happens, in order. */
  readonly onEvent?: (event: TraceEvent) => void;
  /** For `checks.probes.tellAgain`. */
  readonly keepsMessages?: boolean;
  /** Listens to the service from within. Its errors are violations, whether anybody listens or not. */
  readonly seams?: Pick<Seams, 'log' | 'createActors'>;
}

const CONNECT_SPREAD_MS = 5_000;
const KEPT_VIOLATIONS = 1_000;
const SILENT: Omit<Log, 'error'> = { debug() {}, info() {}, warn() {} };
/** What the service writes by itself. */
const BOOKKEEPING: ReadonlySet<string> = new Set([
  'reservation.put',
  'alarm.begin',
  'alarm.change',
  'alarm.end',
  'power.put',
]);

/** Provisions the world, starts its service, and has its chargers connect one after another. */
export async function createWorld(options: WorldOptions): Promise<World> {
  const world = new World(options);
  await world.begin();
  return world;
}

export class World {
  readonly agenda: Agenda;
  readonly oracle = new LimitOracle();
  readonly watch: PowerWatch;
  readonly runs: readonly ChargerRun[];
  readonly violations: Violation[] = [];
  readonly checks: Checks;
  /** Meter values, limits and acks that chargers and service exchanged. */
  readonly counts = { fromChargers: 0, toChargers: 0 };
  readonly #tenants: readonly TenantEntry[];
  readonly #grid: readonly GridLine[];
  readonly #keys: ReadonlyMap<string, string>;
  readonly #dataDir = makeWorldFolder();
  readonly #config: Config;
  readonly #horizonMs: number;
  readonly #clock: VirtualClock;
  readonly #outstanding = new Outstanding();
  readonly #pace: Pace;
  readonly #log: Log;
  readonly #tracer: Tracer | undefined;
  readonly #alarms: AlarmNotes | undefined;
  readonly #power: SitePower;
  readonly #chargers: WorldChargers;
  readonly #carrier: Carrier;
  readonly #service: WorldService;
  readonly #connections: Connections;
  readonly #book: CallBook;
  #doom: { readonly fate: CommitFate; readonly downMs: number } | undefined;

  constructor(options: WorldOptions) {
    const { seed, startMs, onEvent, transport = 'inProcess' } = options;
    this.#tenants = fillSecrets({ tenants: [...options.tenants] }).tenants;
    this.#grid = options.grid ?? [];
    this.#keys = keysOf(this.#tenants);
    const ofTransport = transport === 'mqtt' ? BROKER_ENVIRONMENT : {};
    this.#config = configOf(this.#dataDir, { ...options.environment, ...ofTransport });
    this.#horizonMs = longestHorizonMs(this.#tenants, this.#config);
    this.#clock = createVirtualClock(startMs);
    this.#pace = new Pace(this.#clock, this.#outstanding);
    this.agenda = this.#pace.agenda;
    this.#tracer = onEvent && new Tracer(onEvent, () => this.nowMs());
    this.#alarms = this.#tracer && new AlarmNotes(this.#tracer);
    this.#log = this.#createLog(options.seams?.log ?? SILENT);
    this.#chargers = new WorldChargers({
      agenda: this.agenda,
      clock: this.#clock,
      seed,
      visitorsOf: options.visitorsOf,
      traitsOf: options.traitsOf,
    });
    this.runs = this.#chargers.runs;
    this.#power = this.#createPower();
    this.watch = this.#power.watch;
    this.#carrier = this.#createCarrier(transport);
    this.#service = new WorldService({
      config: this.#config,
      keys: this.#keys,
      clock: this.#clock,
      log: this.#log,
      outstanding: this.#outstanding,
      createActors: options.seams?.createActors,
    });
    this.#connections = this.#createConnections();
    this.#book = this.#createBook();
    this.checks = this.#createChecks(startMs, options.keepsMessages ?? false);
  }

  /** To be called once, before anything else. */
  async begin(): Promise<void> {
    await provisionWorld(this.#config, this.#tenants, this.#keys);
    const events = this.#chargerEvents();
    for (const { tenantUuid, locations } of this.#tenants) {
      for (const { locationId, permanentLimitKw, gridLimitKw, chargers } of locations) {
        this.oracle.addLocation(locationId, permanentLimitKw, gridLimitKw ?? null);
        this.#power.look(locationId);
        for (const { controllerUuid, connectors, timing } of chargers)
          this.#chargers.add({ tenantUuid, locationId, controllerUuid }, connectors, events, timing);
      }
    }
    this.#beginSupply();
    await this.#live();
    for (const run of this.runs)
      this.#connections.connectLater(run, uniformInt(run.luck, 0, CONNECT_SPREAD_MS));
  }

  #beginSupply(): void {
    for (const line of this.#grid)
      new Supply({
        line,
        runs: this.runs,
        agenda: this.agenda,
        tracer: this.#tracer,
        nowMs: () => this.nowMs(),
        monotonicMs: () => this.monotonicMs(),
      }).begin();
  }

  nowMs(): EpochMs {
    return this.#clock.nowMs();
  }

  monotonicMs(): number {
    return this.#clock.monotonicMs();
  }

  /** Lets time pass; everything that falls due happens at its own instant. */
  advance(ms: number): Promise<void> {
    return this.#pace.advance(ms);
  }

  travelTo(instant: EpochMs): Promise<void> {
    return this.advance(instant - this.nowMs());
  }

  /** A request of the tenant, in no virtual time; `path` begins after `/v1`. */
  async call(
    method: string,
    path: string,
    body?: unknown,
    tenantUuid: string = this.#tenants[0]?.tenantUuid ?? '',
  ): Promise<RestAnswer> {
    if (!this.#service.isUp) return NO_ANSWER;
    const call = { method, path, body };
    this.#book.before(call);
    const answer = await this.#service.ask(call, tenantUuid);
    await this.#pace.untilIdle();
    // Death was meant for this call, or for nobody.
    this.#doom = undefined;
    this.#book.after(call, answer);
    await this.checks.called(call, tenantUuid, answer);
    return answer;
  }

  /** The service is killed, and starts again `downMs` later. */
  crash(downMs: number): void {
    const bury = this.#service.die();
    if (bury === undefined) return;
    this.checks.ended();
    this.#pace.soon(bury);
    this.#connections.loseAll(downMs, [RECONNECT_MS, 2 * RECONNECT_MS]);
    this.agenda.at(this.monotonicMs() + downMs, () => this.#pace.soon(() => this.#live()));
  }

  /** The service dies before or after the commit that the next call asks for, and starts again `downMs` later. */
  dieAtNextWrite(fate: CommitFate, downMs: number): void {
    this.#doom = { fate, downMs };
  }

  /** The broker is gone for `downMs`, and with it every session. */
  restartBroker(downMs: number): void {
    this.#connections.restartBroker(downMs);
  }

  setDatabaseBusy(isBusy: boolean): void {
    this.#service.isDatabaseBusy = isBusy;
    this.checks.setDatabaseBusy(isBusy);
  }

  /** The charger starts again at once. */
  reboot(run: ChargerRun): void {
    this.#connections.cut(run);
    run.reboot();
    this.#connections.connectLater(run, uniformInt(run.luck, 0, RECONNECT_MS));
  }

  /** Its connection breaks and is made again `downMs` later. */
  disconnect(run: ChargerRun, downMs: number): void {
    this.#connections.cut(run);
    this.#connections.connectLater(run, downMs + uniformInt(run.luck, 0, RECONNECT_MS));
  }

  /** Something of the kind begins or ends to befall `target`; '' for the service. */
  noteFault(fault: FaultKind, target: string, isOn: boolean): void {
    this.#tracer?.add({ kind: 'fault', fault, target, isOn });
  }

  noteAction(name: string, status: number): void {
    this.#tracer?.add({ kind: 'action', name, status });
  }

  report(violation: Omit<Violation, 'atMs'>): void {
    this.#violate({ atMs: this.nowMs(), ...violation });
  }

  async close(): Promise<void> {
    await this.#pace.untilIdle();
    await this.#service.stop();
    await this.#carrier.close();
    rmSync(this.#dataDir, { recursive: true, force: true });
  }

  #violate(violation: Violation): void {
    this.#tracer?.add({ kind: 'violation', ...violation });
    if (this.violations.length < KEPT_VIOLATIONS) this.violations.push(violation);
  }

  async #live(): Promise<void> {
    await this.#service.start(this.#carrier, {
      onWritten: (changes) => {
        this.#alarms?.written(changes);
        this.checks.written(changes);
      },
      fateOf: (changes) => this.#fateOf(changes),
    });
    await this.checks.began();
  }

  #fateOf(changes: readonly Change[]): CommitFate {
    const isAsked = changes.some(({ kind }) => !BOOKKEEPING.has(kind));
    if (this.#doom === undefined || !isAsked) return 'survived';
    const { fate, downMs } = this.#doom;
    this.#doom = undefined;
    this.crash(downMs);
    this.checks.reached.note(fate === 'diedBefore' ? 'diedBeforeCommit' : 'diedAfterCommit');
    return fate;
  }

  #lookAgainAt(locationId: string, atMs: EpochMs): void {
    if (!this.oracle.locationIds.includes(locationId) || atMs <= this.nowMs()) return;
    this.agenda.at(this.monotonicMs() + atMs - this.nowMs(), () => this.#power.look(locationId));
  }

  #visited({ locationId, controllerUuid }: ChargerAddress, connectorId: ConnectorId, note: CarNote): void {
    const { what, car, deliveredWh } = note;
    this.#tracer?.add({
      kind: 'session',
      locationId,
      controllerUuid,
      connectorId,
      what,
      sessionId: car.sessionId ?? '',
      requestedWh: Math.round(car.batteryWh - car.storedWh),
      deliveredWh: Math.round(deliveredWh),
    });
  }

  #chargerEvents(): ChargerEvents {
    return {
      said: ({ charger, wire }, message) => {
        this.counts.fromChargers++;
        this.checks.said(charger, message);
        this.#carrier.say(wire, message);
      },
      changed: (run) => this.#power.noteChange(run),
      visited: (charger, connectorId, note) => this.#visited(charger, connectorId, note),
    };
  }

  #createLog(listener: Omit<Log, 'error'>): Log {
    return {
      ...listener,
      error: (fields, message) =>
        this.report({ invariant: 'P14', target: 'service', detail: `${message} ${describe(fields)}` }),
    };
  }

  #createPower(): SitePower {
    return new SitePower({
      oracle: this.oracle,
      runs: this.runs,
      tracer: this.#tracer,
      nowMs: () => this.nowMs(),
      monotonicMs: () => this.monotonicMs(),
      onViolation: (violation) => this.#violate(violation),
    });
  }

  #createCarrier(transport: 'inProcess' | 'mqtt'): Carrier {
    const events = this.#carrierEvents();
    const wireOf = (charger: ChargerAddress) => this.#chargers.wireOf(charger);
    if (transport === 'inProcess')
      return new HandOver({ wireOf, clock: this.#clock, log: this.#log, metrics: createMetrics(), events });
    return new BrokerCarrier({
      tenants: this.#tenants,
      ca: authorityOf(this.#config),
      wireOf,
      topicsOf: (charger) => this.#chargers.topicsOf(charger),
      monotonicMs: () => this.monotonicMs(),
      outstanding: this.#outstanding,
      log: this.#log,
      events,
    });
  }

  #carrierEvents(): CarrierEvents {
    return {
      limitLeft: (connector, limit) => {
        this.counts.toChargers++;
        this.checks.limitLeft(connector.controllerUuid, connector.connectorId, limit);
        this.#tracer?.granted(connector, limit);
      },
      heard: (from, message) => {
        if (this.#service.isUp) this.checks.heard(from, message);
      },
      cutOff: (charger) => {
        const run = this.#chargers.find(charger);
        if (run === undefined) return;
        this.#connections.cut(run);
        this.#connections.connectLater(run, RECONNECT_MS);
      },
    };
  }

  #createConnections(): Connections {
    return new Connections({
      agenda: this.agenda,
      monotonicMs: () => this.monotonicMs(),
      runs: this.runs,
      carrier: this.#carrier,
      soon: (task) => this.#pace.soon(task),
      onChange: (run) => this.#power.noteChange(run),
      isServiceUp: () => this.#service.isUp,
    });
  }

  #createBook(): CallBook {
    return new CallBook({
      oracle: this.oracle,
      watch: this.watch,
      horizonMs: this.#horizonMs,
      nowMs: () => this.nowMs(),
      events: {
        profile: (target, profile) => this.#submitted(target, profile),
        cancelled: (target, priority) => {
          const window = { startsAtMs: this.nowMs(), endsAtMs: this.nowMs() };
          this.#tracer?.add({ kind: 'profile', target, priority, limitW: 0, ...window });
        },
        changed: (locationIds) => {
          for (const locationId of locationIds) {
            this.#power.look(locationId);
            this.#lookAgainAt(locationId, this.nowMs() + this.#horizonMs);
          }
        },
      },
    });
  }

  #submitted(target: string, { startTime, endTime, limitKw, priority = 0 }: NewProfile): void {
    const startsAtMs = Date.parse(startTime);
    const endsAtMs = Date.parse(endTime);
    const limitW = Math.floor(limitKw * 1000);
    this.#tracer?.add({ kind: 'profile', target, priority, limitW, startsAtMs, endsAtMs });
    for (const atMs of [startsAtMs, endsAtMs]) this.#lookAgainAt(target, atMs);
    this.checks.submitted(target, { startTime, endTime, limitKw, priority });
  }

  #createChecks(startMs: EpochMs, keepsMessages: boolean): Checks {
    const carrier = this.#carrier;
    const { heartbeatS, leaseTtlS, settleS } = this.#config;
    return new Checks({
      tenants: this.#tenants,
      oracle: this.oracle,
      watch: this.watch,
      book: this.#book,
      runs: this.runs,
      ask: (question, tenantUuid) => this.#service.ask(question, tenantUuid),
      report: (violation) => this.report(violation),
      monotonicMs: () => this.monotonicMs(),
      wallMs: () => this.nowMs(),
      keepsMessages,
      times: {
        leaseMs: longestLeaseMsOf({ ttlMs: 1000 * leaseTtlS }),
        settleMs: 1000 * settleS,
        silenceMs: 3000 * heartbeatS,
      },
      soon: (task) => this.#pace.soon(task),
      at: (atMs, task) => this.agenda.at(atMs - startMs, task),
      deliver: carrier.sayAgain && ((run, message) => carrier.sayAgain?.(run.wire, message)),
      pendingTimers: () => this.#clock.pendingTimers(),
      waiting: () => this.agenda.length,
      metrics: () => this.#service.metrics,
    });
  }
}

/** How far the longest lease reaches that a charger of the world may have, ms. */
function longestHorizonMs(tenants: readonly TenantEntry[], { leaseTtlS, settleS }: Config): number {
  const own = tenants.flatMap(({ locations }) =>
    locations.flatMap(({ chargers }) => chargers.map(({ timing }) => timing?.ttlMs ?? 0)),
  );
  return horizonMsOf({ ttlMs: Math.max(1000 * leaseTtlS, ...own), settleMs: 1000 * settleS });
}

function describe(fields: object): string {
  const error = 'err' in fields ? fields.err : undefined;
  return error instanceof Error ? (error.stack ?? error.message) : JSON.stringify(fields);
}
