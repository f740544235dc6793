// A simulated world: the production service on a virtual clock, its chargers, the wires between them, and the checks.
import { rmSync } from 'node:fs';
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import { horizonMsOf, longestLeaseMsOf } from '../../machines/ledger/grant.js';
import type { Policy } from '../../machines/policy/policies.js';
import type { ChargerAddress } from '../../machines/values/ids.js';
import type { EpochMs } from '../../machines/values/time.js';
import { createActorSystem } from '../../src/actor-system.js';
import { type Config, databaseUrlOf, loadConfig } from '../../src/config.js';
import { newTokenKeys } from '../../src/inbound/http/token-keys.js';
import { createMetrics } from '../../src/metrics.js';
import { createAdministration } from '../../src/outbound/knex/administration.js';
import type { Log } from '../../src/ports/log.js';
import { SCOPES } from '../../src/ports/records.js';
import type { Change } from '../../src/ports/store.js';
import { provisionFile } from '../../src/provisioning/provision-file.js';
import type { TenantEntry } from '../../src/provisioning/provisioning-schema.js';
import { formatApiKey } from '../../src/secrets.js';
import type { Seams } from '../../src/service.js';
import type { PerPhase } from '../charger/car.js';
import type { ChargerTraits } from '../charger/traits.js';
import type { Visitors } from '../charger/virtual-connector.js';
import { Checks } from '../checks/checks.js';
import type { BilledPeak, ImportOver } from '../checks/import-watch.js';
import { OperatorWatch } from '../checks/operator-watch.js';
import { createReached } from '../checks/reached.js';
import { createSiteBooks } from '../checks/site-book.js';
import type { FaultKind, TraceEvent } from '../log/trace-event.js';
import { fillSecrets } from '../scenario/fill-secrets.js';
import type { Building, GridLine } from '../scenario/scenario.js';
import { createVirtualClock, type VirtualClock } from '../virtual-clock.js';
import type { Agenda } from './agenda.js';
import { BridgedCharger } from './bridged-charger.js';
import { BROKER_ENVIRONMENT, BrokerCarrier } from './broker-carrier.js';
import { kwAt, SiteImports } from './building.js';
import { type BookEvents, CallBook } from './call-book.js';
import type { Carrier, CarrierEvents } from './carrier.js';
import type { ChargerRun } from './charger-run.js';
import { Connections, RECONNECT_MS } from './connections.js';
import { InProcessCarrier } from './in-process-carrier.js';
import { LimitOracle, type NewProfile } from './limit-oracle.js';
import { LimitReadings } from './limit-readings.js';
import { Outstanding, Pace } from './pace.js';
import { type FuseLoad, type PowerWatch, SitePower } from './power-watch.js';
import type { Question, RestAnswer } from './rest-client.js';
import { type OcppOf, WorldChargers } from './world-chargers.js';
import { makeWorldFolder } from './world-folder.js';
import { WorldGateway } from './world-gateway.js';
import { type NodeFault, WorldNodes } from './world-nodes.js';
import { type Report, type Tracer, type Violation, WorldRecord } from './world-record.js';
import {
  authorityOf,
  BOOKKEEPING,
  type CommitFate,
  NO_ANSWER,
  type ServiceHost,
  WorldService,
} from './world-service.js';

// Feeds chargers from lines of the grid whose voltage sags under load, so that amperes and watts differ.

type PhaseRotation = ChargerRun['charger']['connectors'][number]['rotation'];

/** Interval at which the voltage follows the load. */
const STEP_MS = 1_000;
const PHASES = [0, 1, 2] as const;
const LETTERS = 'RST';

/**
 * Phase-to-neutral voltages at the end of `line`, in V to a tenth: U = U0 − R · I on each phase. All loads have a
 * power factor of 1 (the approximate line segment in W. H. Kersting, Distribution System Modeling and Analysis).
 * The draw of others is spread over the phases, and counted at the voltage of the source.
 * @param currentA draw of the chargers
 */
export function voltagesOf(line: GridLine, baseKw: number, currentA: PerPhase): PerPhase {
  const { sourceVoltageV, resistanceOhm } = line;
  const baseA = (1000 * baseKw) / (PHASES.length * sourceVoltageV);
  const sagged = (phaseA: number) => {
    const voltageV = sourceVoltageV - resistanceOhm * (baseA + phaseA);
    return Math.round(10 * Math.max(0, voltageV)) / 10;
  };
  return [sagged(currentA[0]), sagged(currentA[1]), sagged(currentA[2])];
}

interface SupplyOptions {
  readonly runs: readonly ChargerRun[];
  readonly agenda: Agenda;
  readonly tracer: Tracer | undefined;
}

/** One line, with the chargers of its locations. */
class Supply {
  readonly #line: GridLine;
  readonly #runs: readonly ChargerRun[];
  readonly #agenda: Agenda;
  readonly #tracer: Tracer | undefined;
  #voltagesV: PerPhase | undefined;

  constructor(line: GridLine, { runs, agenda, tracer }: SupplyOptions) {
    this.#line = line;
    this.#runs = runs.filter(({ charger }) => line.locationIds.includes(charger.address.locationId));
    this.#agenda = agenda;
    this.#tracer = tracer;
  }

  /** The voltage follows the load from now on. */
  begin(): void {
    const atMs = this.#agenda.monotonicMs();
    this.#follow(atMs);
    this.#agenda.after(STEP_MS, () => this.begin());
  }

  #follow(atMs: number): void {
    const voltagesV = voltagesOf(this.#line, kwAt(this.#line.base, this.#agenda.nowMs()), this.#drawnA(atMs));
    if (PHASES.every((phase) => this.#voltagesV?.[phase] === voltagesV[phase])) return;
    this.#voltagesV = voltagesV;
    this.#tracer?.voltage(this.#line.name, voltagesV);
    for (const run of this.#runs) {
      run.charger.connectors.forEach(({ rotation }, i) => {
        const [first, second, third] = phasesOf(rotation);
        run.charger.supply(i, [voltagesV[first], voltagesV[second], voltagesV[third]], atMs);
      });
      run.wake();
    }
  }

  /** By phase of the grid. */
  #drawnA(atMs: number): PerPhase {
    const sumA: [number, number, number] = [0, 0, 0];
    for (const { charger } of this.#runs) {
      charger.advance(atMs);
      charger.outlets.forEach((outlet, i) => {
        const currentA = outlet.physicalCurrentA();
        phasesOf(charger.connectors[i]?.rotation).forEach((phase, own) => {
          sumA[phase] += currentA[own] ?? 0;
        });
      });
    }
    return sumA;
  }
}

type Phase = (typeof PHASES)[number];

/** Grid phases that feed L1, L2 and L3 of a connector; without a provisioned rotation, the same ones. */
function phasesOf(rotation: PhaseRotation): readonly [Phase, Phase, Phase] {
  const placeOf = (letter: string | undefined, otherwise: Phase) =>
    PHASES.find((phase) => LETTERS[phase] === letter) ?? otherwise;
  const [first, second, third] = rotation ?? LETTERS;
  return [placeOf(first, 0), placeOf(second, 1), placeOf(third, 2)];
}

// Preparation of a world: settings, tenants and keys for the first start of its service.

/** One API key per tenant, always the same. */
function keysOf(tenants: readonly TenantEntry[]): ReadonlyMap<string, string> {
  return new Map(
    tenants.map(({ tenantUuid }, i) => [
      tenantUuid as string,
      formatApiKey(`world${i}`.padEnd(8, '0'), `secret${i}`.padEnd(43, '0')),
    ]),
  );
}

function configOf(dataDir: string, environment: Readonly<Record<string, string>> = {}): Config {
  return loadConfig(
    {},
    {
      HEADROOM_HTTP_PORT: '0',
      HEADROOM_MQTT_PORT: '0',
      HEADROOM_DATA_DIR: dataDir,
      // The keys are given directly: the service would look at a file every virtual second.
      HEADROOM_TOKEN_KEYS: newTokenKeys(),
      ...environment,
    },
  );
}

async function provisionWorld(
  config: Config,
  tenants: readonly TenantEntry[],
  keys: ReadonlyMap<string, string>,
  atMs: EpochMs,
): Promise<void> {
  const administration = await createAdministration({ databaseUrl: databaseUrlOf(config) });
  const entries = tenants.map((tenant) => {
    const key = keys.get(tenant.tenantUuid);
    return key === undefined
      ? tenant
      : { ...tenant, apiKeys: [{ key, scopes: [...SCOPES] }, ...tenant.apiKeys] };
  });
  for await (const _ of provisionFile(administration, { tenants: entries }, { dryRun: false, atMs }));
  await administration.close();
}

/** Reach of the longest lease that a charger of the world may have, ms. */
function longestHorizonMs(tenants: readonly TenantEntry[], { leaseTtlS, settleS }: Config): number {
  const own = tenants.flatMap(({ locations }) =>
    locations.flatMap(({ chargers }) => chargers.map(({ timing }) => timing?.ttlMs ?? 0)),
  );
  return horizonMsOf({ ttlMs: Math.max(1000 * leaseTtlS, ...own), settleMs: 1000 * settleS });
}

/** Undefined without a policy. */
function withPolicy(policy: Policy | undefined): Seams['createActors'] {
  return policy && ((options) => createActorSystem({ ...options, policy }));
}

const CONNECT_SPREAD_MS = 5_000;

/** The sites and chargers of a world, their cars, the transport of messages, and the listeners. */
export interface WorldOptions {
  readonly tenants: readonly TenantEntry[];
  readonly seed: number;
  readonly startMs: EpochMs;
  /** Cars of the charger's connectors; times of cars are ms since the start of the world. */
  readonly visitorsOf: (charger: ChargerAddress) => Visitors;
  /** Traits of each charger, drawn or given; traits that are left out are honest. */
  readonly traitsOf?: (charger: ChargerAddress, random: RandomGenerator) => Partial<ChargerTraits>;
  /** OCPP traits of each charger behind the gateway; undefined for a charger with MQTT. */
  readonly ocppOf?: OcppOf;
  /** Lines that feed its locations; a location on no line has the voltage of its rating. */
  readonly grid?: readonly GridLine[];
  /** Other loads at its locations, with a meter at the connection. */
  readonly buildings?: readonly Building[];
  /** Replaces the policies of all locations. */
  readonly policy?: Policy | undefined;
  /** Settings of the service as environment variables. */
  readonly environment?: Readonly<Record<string, string>>;
  /**
   * Transport of messages: as objects within the process, or as bytes through the production broker. The same seed
   * gives the same run with both.
   */
  readonly transport?: 'inProcess' | 'mqtt';
  /** Receives every event, in order. */
  readonly onEvent?: (event: TraceEvent) => void;
  /** Number of nodes that stand by for each other, in this process. Their broker belongs to none of them. */
  readonly nodes?: number;
  /** The nodes share the tenants instead of standing by. */
  readonly isSharded?: boolean;
  /** Required by `checks.probes.tellAgain`. */
  readonly keepsMessages?: boolean;
  /** Listens to the service from within. Errors of the service are violations with or without a listener. */
  readonly seams?: Pick<Seams, 'log' | 'createActors' | 'newId'>;
}

/** Provisions the world, starts its service, and connects its chargers one after another. */
export async function createWorld(options: WorldOptions): Promise<World> {
  const world = new World(options);
  await world.begin();
  return world;
}

export class World {
  readonly oracle = new LimitOracle();
  readonly checks: Checks;
  /** Numbers of messages that chargers and service exchanged: meter values, limits and acks. */
  readonly counts = { fromChargers: 0, toChargers: 0 };
  /** Work on the agenda happens between the events of the service. */
  readonly agenda: Agenda;
  readonly report: Report;
  readonly #tenants: readonly TenantEntry[];
  readonly #grid: readonly GridLine[];
  readonly #dataDir = makeWorldFolder();
  readonly #config: Config;
  readonly #keys: ReadonlyMap<string, string>;
  readonly #horizonMs: number;
  readonly #clock: VirtualClock;
  readonly #pace: Pace;
  readonly #outstanding = new Outstanding();
  readonly #record: WorldRecord;
  readonly #log: Log;
  readonly #gateway: WorldGateway;
  readonly #chargers: WorldChargers;
  readonly #power: SitePower;
  readonly #imports: SiteImports;
  readonly #carrier: Carrier;
  readonly #service: ServiceHost;
  /** The same object as `#service`, if the service has several nodes. */
  readonly #nodes: WorldNodes | undefined;
  readonly #connections: Connections;
  readonly #book: CallBook;
  readonly #operators: OperatorWatch;
  /** Undefined without a listener of the trace, or with several nodes. */
  readonly #limits: LimitReadings | undefined;
  #doom: { readonly fate: CommitFate; readonly downMs: number } | undefined;

  /** Creates the parts in the order of their dependencies. */
  constructor(options: WorldOptions) {
    const { seed, startMs, onEvent, transport = 'inProcess', seams, grid = [], buildings = [] } = options;
    const outstanding = this.#outstanding;
    const tenants = fillSecrets({ tenants: [...options.tenants] }).tenants;
    const keys = keysOf(tenants);
    const ofTransport = transport === 'mqtt' ? BROKER_ENVIRONMENT : {};
    const config = configOf(this.#dataDir, { ...options.environment, ...ofTransport });
    const clock = createVirtualClock(startMs);
    const pace = new Pace(clock, outstanding, options.nodes !== undefined);
    const record = new WorldRecord(onEvent, () => clock.nowMs());
    const log = record.log(seams?.log);
    const times = {
      leaseMs: longestLeaseMsOf({ ttlMs: 1000 * config.leaseTtlS }),
      settleMs: 1000 * config.settleS,
      heartbeatMs: 1000 * config.heartbeatS,
    };
    const [{ agenda }, { tracer, report }, { oracle }] = [pace, record, this];
    this.#tenants = tenants;
    this.#grid = grid;
    this.#config = config;
    this.#keys = keys;
    this.#horizonMs = longestHorizonMs(tenants, config);
    this.#clock = clock;
    this.#pace = pace;
    this.agenda = agenda;
    this.#record = record;
    this.report = report;
    this.#log = log;
    this.#gateway = new WorldGateway({ tenants, heartbeatMs: times.heartbeatMs, clock, log });
    this.#gateway.start();
    const chargers = new WorldChargers({
      ...options,
      gateway: this.#gateway,
      agenda,
      said: ({ charger, wire }, message) => {
        this.counts.fromChargers++;
        this.checks.said(charger, message);
        this.#carrier.say(wire, message);
      },
      changed: (run) => {
        this.#power.noteChange(run);
        this.checks.changed(run);
      },
      visited: (charger, connectorId, note) => record.visit(charger, connectorId, note),
      brokerSideOf: (run) => this.#connections.brokerSideOf(run),
      settle: () => pace.soon(async () => {}),
    });
    const { runs } = chargers;
    this.#chargers = chargers;
    this.#power = new SitePower({ tenants, oracle, runs, agenda, tracer, report });
    const { watch } = this.#power;
    const books = createSiteBooks(tenants, times);
    // Everything that the checks need of the world; each check takes the parts that it names.
    const checked = {
      tenants,
      buildings,
      runs,
      oracle,
      watch,
      books,
      sites: books.sites,
      times,
      horizonMs: this.#horizonMs,
      nowMs: () => clock.nowMs(),
      monotonicMs: () => clock.monotonicMs(),
      at: (atMs: EpochMs, work: () => void) => agenda.at(atMs - startMs, work),
      soon: pace.soon.bind(pace),
      ask: (question: Question, tenantUuid: string) => this.#service.ask(question, tenantUuid),
      isServiceUp: () => this.#service.isUp,
      drawnW: (locationId: string) => this.#power.drawnW(locationId),
      reached: createReached(),
      report,
    };
    this.#imports = new SiteImports({
      ...checked,
      seed,
      agenda,
      drawnW: (locationId) => watch.powerW(locationId),
      say: (topic, message) => this.#service.isUp && this.#carrier.receiveOfSite(topic, message),
    });
    this.#carrier = this.#createCarrier(transport);
    const parts = { config, keys, clock, outstanding, log, report, soon: checked.soon };
    const { nodes: count, isSharded = false } = options;
    this.#nodes = count === undefined ? undefined : new WorldNodes({ ...parts, count, isSharded });
    this.#limits =
      tracer && count === undefined
        ? new LimitReadings(tenants, (limits, sources) => tracer.limits(limits, sources))
        : undefined;
    const given = seams?.createActors ?? withPolicy(options.policy);
    const createActors = this.#limits?.following(given) ?? given;
    const newId = seams?.newId;
    this.#service =
      this.#nodes ??
      new WorldService({ ...parts, ...(createActors && { createActors }), ...(newId && { newId }) });
    this.#connections = new Connections({
      agenda,
      runs,
      carrier: this.#carrier,
      soon: checked.soon,
      onChange: (run) => this.#power.noteChange(run),
      isServiceUp: () => this.#service.isUp || !this.#service.hasBroker,
    });
    this.#book = new CallBook({ ...checked, events: this.#bookEvents() });
    this.#operators = new OperatorWatch({
      ...checked,
      allowedW: (locationId, limitW) => this.checks.late.allowedW(locationId, limitW),
    });
    const carrier = this.#carrier;
    this.checks = new Checks({
      ...checked,
      book: this.#book,
      hasOwnPolicy: options.policy !== undefined,
      keepsMessages: options.keepsMessages ?? false,
      deliver: carrier.sayAgain && ((run, message) => carrier.sayAgain?.(run.wire, message)),
      pendingTimers: () => clock.pendingTimers(),
      waiting: () => agenda.length,
      metrics: () => this.#service.metrics,
      stoodStill: () => this.#nodes?.stoodStill === true,
      shards: this.#nodes?.shards ?? 0,
      operatorW: (locationId) => this.#operators.leastW(locationId),
      areOrdersExpected: (locationId) => this.#operators.areOrdersExpected(locationId),
    });
  }

  get watch(): PowerWatch {
    return this.#power.watch;
  }

  get runs(): readonly ChargerRun[] {
    return this.#chargers.runs;
  }

  /** The REST API, for requests from outside; undefined while no service runs. */
  get httpUrl(): string | undefined {
    return this.#service.httpUrl;
  }

  /** The API key of each tenant. */
  get apiKeys(): ReadonlyMap<string, string> {
    return this.#keys;
  }

  get violations(): readonly Violation[] {
    return this.#record.violations;
  }

  /** For each site whose average import is limited, since the beginning. */
  get billedPeaks(): readonly BilledPeak[] {
    return this.#imports.billed.peaks;
  }

  /** For each site with a building, since the beginning. */
  get imports(): readonly ImportOver[] {
    return this.#imports.connection.over;
  }

  /** For each phase of each fuse, since the beginning. */
  get fuses(): readonly FuseLoad[] {
    return this.#power.fuses.loads;
  }

  /** Must be called once, before anything else. */
  async begin(): Promise<void> {
    await provisionWorld(this.#config, this.#tenants, this.#keys, this.nowMs());
    for (const { tenantUuid, locations } of this.#tenants) {
      for (const { locationId, permanentLimitKw, gridLimitKw, chargers } of locations) {
        this.oracle.addLocation(locationId, permanentLimitKw, gridLimitKw ?? null);
        this.#power.look(locationId);
        for (const { controllerUuid, connectors, timing } of chargers)
          this.#chargers.add({ tenantUuid, locationId, controllerUuid }, connectors, timing);
      }
    }
    const { runs, agenda } = this;
    const { tracer } = this.#record;
    for (const line of this.#grid) new Supply(line, { runs, agenda, tracer }).begin();
    await this.#live();
    this.#imports.begin();
    for (const run of runs) {
      const afterMs = uniformInt(run.luck, 0, CONNECT_SPREAD_MS);
      if (run.charger instanceof BridgedCharger) run.charger.arriveIn(afterMs);
      else this.#connections.connectLater(run, afterMs);
    }
  }

  nowMs(): EpochMs {
    return this.#clock.nowMs();
  }

  monotonicMs(): number {
    return this.#clock.monotonicMs();
  }

  /** Lets time pass; each due event happens at its own instant. */
  advance(ms: number): Promise<void> {
    return this.#pace.advance(ms);
  }

  travelTo(instant: EpochMs): Promise<void> {
    return this.advance(instant - this.nowMs());
  }

  /**
   * Sends a request of the tenant, in no virtual time; `path` begins after `/v1`. Ids of objects that the call
   * creates contain `name`.
   */
  async call(
    method: string,
    path: string,
    body?: unknown,
    tenantUuid: string = this.#tenants[0]?.tenantUuid ?? '',
    name?: string,
  ): Promise<RestAnswer> {
    const [service, book] = [this.#service, this.#book];
    if (!service.isUp) return NO_ANSWER;
    const call = { method, path, body };
    book.before(call);
    const answer = await service.ids.during(name, () => service.ask(call, tenantUuid, 'client'));
    await this.#pace.untilIdle();
    // A planned death applies to this call or to none.
    this.#doom = undefined;
    book.after(call, answer);
    this.#operators.called(call, answer);
    await this.checks.called(call, tenantUuid, answer);
    return answer;
  }

  /** Kills the service, and starts it again `downMs` later. */
  crash(downMs: number): void {
    const bury = this.#service.die();
    if (bury === undefined) return;
    this.checks.ended();
    this.#operators.disturbed();
    this.#pace.soon(bury);
    if (this.#service.hasBroker) this.#connections.loseAll(downMs, [RECONNECT_MS, 2 * RECONNECT_MS]);
    this.agenda.after(downMs, () => this.#pace.soon(() => this.#live()));
  }

  /** Possible outcomes of a commit during which the service dies or freezes. */
  get fates(): readonly CommitFate[] {
    return this.#service.fates;
  }

  /** Number of nodes, the active one included; 0 for a single service. */
  get nodeCount(): number {
    return this.#nodes?.count ?? 0;
  }

  /** Number of times that another node became active, the first included. */
  get terms(): number {
    return this.#nodes?.writers.terms ?? 0;
  }

  /**
   * Starts a fault of the node at `place`, or of the active one, for `ms`; `ahead` is the sign of a clock's error.
   */
  strikeNode(fault: NodeFault, place: number | 'active', ms: number, ahead: 1 | -1): void {
    const end = this.#nodes?.strike(fault, place, ahead);
    if (end !== undefined) this.#sufferFor(ms, end);
  }

  /** Ends all faults of the living nodes. */
  endNodeFaults(): void {
    const nodes = this.#nodes;
    if (nodes !== undefined) this.#sufferFor(0, () => nodes.endFaults());
  }

  /** The service dies or freezes before or after the commit of the next call, and is back `downMs` later. */
  dieAtNextWrite(fate: CommitFate, downMs: number): void {
    this.#doom = { fate, downMs };
  }

  /** The broker is down for `downMs`, and every session ends. */
  restartBroker(downMs: number): void {
    this.#operators.disturbed();
    this.#connections.restartBroker(downMs);
  }

  get isDatabaseBusy(): boolean {
    return this.#service.isDatabaseBusy;
  }

  setDatabaseBusy(isBusy: boolean): void {
    this.#service.isDatabaseBusy = isBusy;
    this.checks.setDatabaseBusy(isBusy);
  }

  /** Kills the gateway, and starts it again `downMs` later. */
  crashGateway(downMs: number): void {
    this.#gateway.die();
    this.#operators.disturbed();
    for (const run of this.runs) {
      if (!(run.charger instanceof BridgedCharger)) continue;
      this.#connections.cut(run);
      run.charger.gatewayDied();
    }
    this.agenda.after(downMs, () => this.#gateway.start());
  }

  /** Restarts the charger at once. */
  reboot(run: ChargerRun): void {
    if (run.charger instanceof BridgedCharger) {
      if (run.charger.traits.behaviours.includes('forgets-profiles')) this.checks.forgot(run);
      run.reboot();
      return;
    }
    this.#connections.cut(run);
    run.reboot();
    this.#connections.connectLater(run, uniformInt(run.luck, 0, RECONNECT_MS));
  }

  /** Breaks the charger's connection, which is made again `downMs` later. */
  disconnect(run: ChargerRun, downMs: number): void {
    if (run.charger instanceof BridgedCharger) run.charger.breakLine(downMs);
    else this.breakSession(run, downMs);
  }

  /** Breaks the connection to the broker: the charger's own, or that of its gateway session. */
  breakSession(run: ChargerRun, downMs: number): void {
    this.#connections.cut(run);
    this.#connections.connectLater(run, downMs + uniformInt(run.luck, 0, RECONNECT_MS));
  }

  /** A fault of `target` begins or ends; '' stands for the service. */
  noteFault(fault: FaultKind, target: string, isOn: boolean): void {
    this.noteTrouble();
    this.#record.fault(fault, target, isOn);
  }

  /** A fault affects chargers or the service now. */
  noteTrouble(): void {
    this.#imports.disturbed();
    this.checks.troubled();
  }

  noteAction(name: string, answer: RestAnswer): void {
    this.#record.action(name, answer);
  }

  async close(): Promise<void> {
    await this.#pace.untilIdle();
    await this.#service.stop();
    await this.#carrier.close();
    rmSync(this.#dataDir, { recursive: true, force: true });
  }

  async #live(): Promise<void> {
    await this.#service.start(this.#carrier, {
      onWritten: (changes) => {
        this.#record.alarms?.written(changes);
        this.#imports.written(changes);
        this.checks.written(changes);
      },
      fateOf: (changes) => this.#fateOf(changes),
      onBegan: async () => {
        // No crash came before: the active node received none of the messages that another node received.
        if (!this.#service.hasBroker) this.checks.ended();
        await this.#began();
      },
    });
  }

  /** Ends a node's fault after `ms`. Its delayed work is then complete before a check asks for the result. */
  #sufferFor(ms: number, end: () => void): void {
    if (!this.#service.isUp) this.checks.setDatabaseBusy(true);
    this.agenda.after(ms, () => {
      end();
      this.#pace.soon(async () => {
        await this.#outstanding.idle();
        await this.#began();
      });
    });
  }

  async #began(): Promise<void> {
    if (!this.#service.isUp) return;
    this.#operators.restarted();
    this.#limits?.readAll();
    this.checks.setDatabaseBusy(this.#service.isDatabaseBusy);
    await this.checks.began();
  }

  #fateOf(changes: readonly Change[]): CommitFate {
    const isAsked = changes.some(({ kind }) => !BOOKKEEPING.has(kind));
    if (this.#doom === undefined || !isAsked) return 'survived';
    const { fate, downMs } = this.#doom;
    this.#doom = undefined;
    if (fate === 'frozenBefore' || fate === 'frozenAfter') {
      const thaw = this.#nodes?.freezeActive();
      if (thaw !== undefined) this.#sufferFor(downMs, thaw);
      return fate;
    }
    this.crash(downMs);
    this.checks.reached.note(fate === 'diedBefore' ? 'diedBeforeCommit' : 'diedAfterCommit');
    return fate;
  }

  #createCarrier(transport: 'inProcess' | 'mqtt'): Carrier {
    const [record, clock] = [this.#record, this.#clock];
    const events: CarrierEvents = {
      limitLeft: (connector, limit) => {
        this.counts.toChargers++;
        this.checks.limitLeft(connector, limit);
        record.tracer?.granted(connector, limit);
      },
      received: (from, message) => {
        if (this.#service.isListening) this.checks.received(from, message);
      },
      cutOff: (charger) => {
        const run = this.#chargers.find(charger);
        if (run === undefined) return;
        this.#connections.cut(run);
        this.#connections.connectLater(run, RECONNECT_MS);
      },
    };
    const wireOf = (charger: ChargerAddress) => this.#chargers.find(charger)?.wire;
    const parts = { wireOf, clock, log: this.#log, events };
    if (transport === 'inProcess') return new InProcessCarrier({ ...parts, metrics: createMetrics() });
    return new BrokerCarrier({
      ...parts,
      tenants: this.#tenants,
      ca: authorityOf(this.#config),
      topicsOf: (charger) => this.#chargers.topicsOf(charger),
      outstanding: this.#outstanding,
    });
  }

  #bookEvents(): BookEvents {
    return {
      profile: (target, profile) => this.#submitted(target, profile),
      cancelled: (target, priority) => this.#record.profileCancelled(target, priority),
      changed: (locationIds) => {
        for (const locationId of locationIds) {
          this.#power.look(locationId);
          this.#lookAgainAt(locationId, this.nowMs() + this.#horizonMs);
        }
      },
    };
  }

  #lookAgainAt(locationId: string, atMs: EpochMs): void {
    const inMs = atMs - this.nowMs();
    if (this.oracle.locationIds.includes(locationId) && inMs > 0)
      this.agenda.after(inMs, () => this.#power.look(locationId));
  }

  #submitted(target: string, { startTime, endTime, limitKw, priority = 0 }: NewProfile): void {
    const profile = { startTime, endTime, limitKw, priority };
    this.#record.profile(target, profile);
    for (const at of [startTime, endTime]) this.#lookAgainAt(target, Date.parse(at));
    this.checks.submitted(target, profile);
  }
}
