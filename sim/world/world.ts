// A simulated world: the production service on a virtual clock, its chargers, the wires between them, and what is checked.
import { rmSync } from 'node:fs';
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { mersenne } from 'pure-rand/generator/mersenne';
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import { horizonMsOf } from '../../machines/grant-ledger.js';
import type { ChargerAddress } from '../../machines/ids.js';
import type { EpochMs } from '../../machines/time.js';
import { variableOf } from '../../src/config.js';
import { createMetrics } from '../../src/metrics.js';
import type { Log } from '../../src/ports/log.js';
import type { Change } from '../../src/ports/store.js';
import type { TenantEntry } from '../../src/provisioning/provisioning-schema.js';
import type { Seams } from '../../src/service.js';
import { readCertificates } from '../../src/tls-files.js';
import { topicsFor } from '../charger/charger-inbox.js';
import type { ChargerTraits } from '../charger/traits.js';
import { createVirtualCharger } from '../charger/virtual-charger.js';
import type { Visitors } from '../charger/virtual-connector.js';
import { type Checks, createChecks } from '../checks/checks.js';
import type { Question } from '../checks/inquiry.js';
import { fillSecrets } from '../scenario/fill-secrets.js';
import type { FaultKind, TraceEvent } from '../trace/trace-event.js';
import { createVirtualClock } from '../virtual-clock.js';
import type { Agenda } from './agenda.js';
import { createAlarmNotes } from './alarm-notes.js';
import { BROKER_ENVIRONMENT, createBrokerCarrier } from './broker-carrier.js';
import { createCallBook } from './call-book.js';
import type { Carrier, CarrierEvents } from './carrier.js';
import { type ChargerRun, runCharger } from './charger-run.js';
import { createConnections, RECONNECT_MS } from './connections.js';
import { createHandOver } from './hand-over.js';
import { LimitOracle, type NewProfile } from './limit-oracle.js';
import { Outstanding } from './outstanding.js';
import { createPace } from './pace.js';
import type { PowerWatch, Violation } from './power-watch.js';
import { callService, type RestAnswer } from './rest-client.js';
import { type CommitFate, type ServiceLife, startService } from './service-life.js';
import { createSitePower } from './site-power.js';
import { createTracer } from './tracer.js';
import { makeWorldFolder } from './world-folder.js';
import { configOf, keysOf, provisionWorld } from './world-provision.js';

export interface WorldOptions {
  readonly tenants: readonly TenantEntry[];
  readonly seed: number;
  readonly startMs: EpochMs;
  /** Who comes to the charger's connectors; times of cars are ms since the start of the world. */
  readonly visitorsOf: (charger: ChargerAddress) => Visitors;
  /** Of each charger, drawn or given; what is not given is honest. */
  readonly traitsOf?: (charger: ChargerAddress, random: RandomGenerator) => Partial<ChargerTraits>;
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
  /** For whoever listens to the service from within; its errors are violations, whoever hears them. */
  readonly seams?: Pick<Seams, 'log' | 'createActors'>;
}

export interface World {
  readonly agenda: Agenda;
  readonly oracle: LimitOracle;
  readonly watch: PowerWatch;
  readonly runs: readonly ChargerRun[];
  readonly violations: readonly Violation[];
  readonly checks: Pick<Checks, 'reached' | 'recovery' | 'probes'>;
  /** Meter values, limits and acks that chargers and service exchanged. */
  readonly counts: { readonly fromChargers: number; readonly toChargers: number };
  nowMs(): EpochMs;
  monotonicMs(): number;
  /** Lets time pass; everything that falls due happens at its own instant. */
  advance(ms: number): Promise<void>;
  travelTo(instant: EpochMs): Promise<void>;
  /** A request of the tenant, in no virtual time; `path` begins after `/v1`. */
  call(method: string, path: string, body?: unknown, tenantUuid?: string): Promise<RestAnswer>;
  /** The service is killed, and starts again `downMs` later. */
  crash(downMs: number): void;
  /** The service dies before or after the commit that the next call asks for, and starts again `downMs` later. */
  dieAtNextWrite(fate: CommitFate, downMs: number): void;
  /** The broker is gone for `downMs`, and with it every session. */
  restartBroker(downMs: number): void;
  setDatabaseBusy(isBusy: boolean): void;
  /** The charger starts again at once. */
  reboot(run: ChargerRun): void;
  /** Its connection breaks and is made again `downMs` later. */
  disconnect(run: ChargerRun, downMs: number): void;
  /** Something of the kind begins or ends to befall `target`; '' for the service. */
  noteFault(fault: FaultKind, target: string, isOn: boolean): void;
  noteAction(name: string, status: number): void;
  report(violation: Omit<Violation, 'atMs'>): void;
  close(): Promise<void>;
}

const CONNECT_SPREAD_MS = 5_000;
const KEPT_VIOLATIONS = 1_000;
const SILENT: Omit<Log, 'error'> = { debug() {}, info() {}, warn() {} };
const NO_ANSWER: RestAnswer = { status: 0, body: undefined };
/** What the service writes by itself. */
const BOOKKEEPING: ReadonlySet<string> = new Set([
  'reservation.put',
  'alarm.begin',
  'alarm.change',
  'alarm.end',
  'power.put',
]);

export async function createWorld(options: WorldOptions): Promise<World> {
  const { seed, startMs, transport = 'inProcess', keepsMessages = false } = options;
  const { tenants } = fillSecrets({ tenants: [...options.tenants] });
  const clock = createVirtualClock(startMs);
  const monotonicMs = () => clock.monotonicMs();
  const nowMs = () => clock.nowMs();
  const random = mersenne(seed);
  const outstanding = new Outstanding();
  const { agenda, soon, settle, advance } = createPace(clock, outstanding);
  const violations: Violation[] = [];
  const runs: ChargerRun[] = [];
  const runOf = new Map<string, ChargerRun>();
  const counts = { fromChargers: 0, toChargers: 0 };
  const dataDir = makeWorldFolder();
  const config = configOf(dataDir, {
    ...options.environment,
    ...(transport === 'mqtt' ? BROKER_ENVIRONMENT : {}),
  });
  const horizonMs = horizonMsOf({
    heartbeatMs: config.heartbeatS * 1000,
    ttlMs: config.leaseTtlS * 1000,
    settleMs: config.settleS * 1000,
  });
  const keys = keysOf(tenants);
  // Whoever is in the world trusts its service's own certificate.
  const ca =
    config.tlsCert === undefined ? undefined : readCertificates(variableOf('tlsCert'), config.tlsCert);
  const metrics = createMetrics();
  let life: ServiceLife | undefined;
  let isBusy = false;
  let ids = 0;
  let boots = 0;

  const tracer = options.onEvent && createTracer(options.onEvent, nowMs);
  const oracle = new LimitOracle();
  const violate = (violation: Violation) => {
    tracer?.add({ kind: 'violation', ...violation });
    if (violations.length < KEPT_VIOLATIONS) violations.push(violation);
  };
  const report: World['report'] = (violation) => violate({ atMs: nowMs(), ...violation });
  const power = createSitePower({ oracle, runs, tracer, nowMs, monotonicMs, onViolation: violate });
  const { watch, look } = power;
  const alarms = tracer && createAlarmNotes(tracer);
  const log: Log = {
    ...(options.seams?.log ?? SILENT),
    error: (fields, message) =>
      report({ invariant: 'P14', target: 'service', detail: `${message} ${describe(fields)}` }),
  };
  const carrierEvents: CarrierEvents = {
    limitLeft(connector, limit) {
      counts.toChargers++;
      checks.limitLeft(connector.controllerUuid, connector.connectorId, limit);
      tracer?.granted(connector, limit);
    },
    heard(from, message) {
      if (life !== undefined) checks.heard(from, message);
    },
    cutOff({ controllerUuid }) {
      const run = runOf.get(controllerUuid);
      if (run === undefined) return;
      connections.cut(run);
      connections.connectLater(run, RECONNECT_MS);
    },
  };
  const wireOf = ({ controllerUuid }: ChargerAddress) => runOf.get(controllerUuid)?.wire;
  const carrier: Carrier =
    transport === 'inProcess'
      ? createHandOver({ wireOf, clock, log, metrics, events: carrierEvents })
      : createBrokerCarrier({
          tenants,
          ca,
          wireOf,
          monotonicMs,
          outstanding,
          log,
          events: carrierEvents,
          topicsOf({ controllerUuid }) {
            const run = runOf.get(controllerUuid);
            return run === undefined ? [] : topicsFor(run.charger);
          },
        });
  const connections = createConnections({
    agenda,
    monotonicMs,
    random,
    runs,
    carrier,
    soon,
    onChange: power.noteChange,
    isServiceUp: () => life !== undefined,
  });
  const book = createCallBook({
    oracle,
    watch,
    horizonMs,
    nowMs,
    events: {
      profile(target, { startTime, endTime, limitKw, priority = 0 }: NewProfile) {
        const startsAtMs = Date.parse(startTime);
        const endsAtMs = Date.parse(endTime);
        const limitW = Math.floor(limitKw * 1000);
        tracer?.add({ kind: 'profile', target, priority, limitW, startsAtMs, endsAtMs });
        for (const atMs of [startsAtMs, endsAtMs]) lookAgainAt(target, atMs);
        checks.submitted(target, { startTime, endTime, limitKw, priority });
      },
      cancelled(target, priority) {
        const window = { startsAtMs: nowMs(), endsAtMs: nowMs() };
        tracer?.add({ kind: 'profile', target, priority, limitW: 0, ...window });
      },
      changed(locationIds) {
        for (const locationId of locationIds) {
          look(locationId);
          lookAgainAt(locationId, nowMs() + horizonMs);
        }
      },
    },
  });

  const { sayAgain } = carrier;
  const checks = createChecks({
    tenants,
    oracle,
    watch,
    book,
    runs,
    ask,
    report,
    monotonicMs,
    wallMs: nowMs,
    keepsMessages,
    times: { leaseMs: horizonMs - config.settleS * 1000, settleMs: config.settleS * 1000 },
    soon,
    at: (atMs, task) => agenda.at(atMs - startMs, task),
    deliver: sayAgain === undefined ? undefined : (run, message) => sayAgain(run.wire, message),
    pendingTimers: () => clock.pendingTimers(),
    waiting: () => agenda.length,
    metrics: () => life?.metrics,
  });

  /** Nobody hears what a service says that is dead by then. */
  async function ask(question: Question, tenantUuid: string): Promise<RestAnswer> {
    const asked = life;
    if (asked === undefined) return NO_ANSWER;
    const answer = await callService(asked.httpUrl, keys.get(tenantUuid) ?? '', question, ca);
    return life === asked ? answer : NO_ANSWER;
  }

  function lookAgainAt(locationId: string, atMs: EpochMs): void {
    if (!oracle.locationIds.includes(locationId) || atMs <= nowMs()) return;
    agenda.at(atMs - startMs, () => look(locationId));
  }

  async function live(): Promise<void> {
    const opened = carrier.open();
    life = await startService({
      config,
      clock,
      log,
      outstanding,
      carrier: opened,
      createActors: options.seams?.createActors,
      newId: () => `id-${++ids}`,
      isDatabaseBusy: () => isBusy,
      onWritten(changes: readonly Change[]) {
        alarms?.written(changes);
        checks.written(changes);
      },
      fateOf,
    });
    await checks.began();
  }

  let doom: { readonly fate: CommitFate; readonly downMs: number } | undefined;

  function fateOf(changes: readonly Change[]): CommitFate {
    const isAsked = changes.some(({ kind }) => !BOOKKEEPING.has(kind));
    if (doom === undefined || !isAsked) return 'survived';
    const { fate, downMs } = doom;
    doom = undefined;
    crash(downMs);
    checks.reached.note(fate === 'diedBefore' ? 'diedBeforeCommit' : 'diedAfterCommit');
    return fate;
  }

  function crash(downMs: number): void {
    const dying = life;
    if (dying === undefined) return;
    life = undefined;
    checks.ended();
    soon(() => dying.kill());
    connections.loseAll(downMs, [RECONNECT_MS, 2 * RECONNECT_MS]);
    agenda.at(clock.monotonicMs() + downMs, () => soon(live));
  }

  function addCharger(
    address: ChargerAddress,
    connectors: TenantEntry['locations'][number]['chargers'][number]['connectors'],
  ): void {
    const charger = createVirtualCharger({
      address,
      connectors,
      boot: `boot-${++boots}`,
      seed: seed + runs.length,
      startsAtMs: 0,
      traffic: options.visitorsOf(address),
      traits: options.traitsOf?.(address, random) ?? {},
      onCar(connectorId, { what, car, deliveredWh }) {
        const { locationId, controllerUuid } = address;
        const about = { locationId, controllerUuid, connectorId, what, sessionId: car.sessionId ?? '' };
        const requestedWh = Math.round(car.batteryWh - car.storedWh);
        tracer?.add({ kind: 'session', ...about, requestedWh, deliveredWh: Math.round(deliveredWh) });
      },
    });
    const run = runCharger({
      charger,
      agenda,
      monotonicMs,
      wallMs: nowMs,
      onChange: power.noteChange,
      seed: 2 * (seed * 1_000_003 + runs.length),
      say({ wire }, message) {
        counts.fromChargers++;
        checks.said(charger, message);
        carrier.say(wire, message);
      },
    });
    runs.push(run);
    runOf.set(address.controllerUuid, run);
  }

  await provisionWorld(config, tenants, keys);
  for (const { tenantUuid, locations } of tenants) {
    for (const { locationId, permanentLimitKw, gridLimitKw, chargers } of locations) {
      oracle.addLocation(locationId, permanentLimitKw, gridLimitKw ?? null);
      look(locationId);
      for (const { controllerUuid, connectors } of chargers)
        addCharger({ tenantUuid, locationId, controllerUuid }, connectors);
    }
  }
  await live();
  for (const run of runs) connections.connectLater(run, uniformInt(random, 0, CONNECT_SPREAD_MS));

  return {
    agenda,
    oracle,
    watch,
    runs,
    violations,
    counts,
    checks,
    report,
    advance,
    nowMs,
    monotonicMs,
    travelTo: (instant) => advance(instant - nowMs()),
    async call(method, path, body, tenantUuid = tenants[0]?.tenantUuid ?? '') {
      if (life === undefined) return NO_ANSWER;
      const call = { method, path, body };
      book.before(call);
      const answer = await ask(call, tenantUuid);
      await settle();
      // Death was meant for this call, or for nobody.
      doom = undefined;
      book.after(call, answer);
      await checks.called(call, tenantUuid, answer);
      return answer;
    },
    crash,
    dieAtNextWrite(fate, downMs) {
      doom = { fate, downMs };
    },
    restartBroker: connections.restartBroker,
    setDatabaseBusy(busy) {
      isBusy = busy;
      checks.setDatabaseBusy(busy);
    },
    reboot(run) {
      connections.cut(run);
      run.reboot(`boot-${++boots}`);
      connections.connectLater(run, uniformInt(random, 0, RECONNECT_MS));
    },
    disconnect(run, downMs) {
      connections.cut(run);
      connections.connectLater(run, downMs + uniformInt(random, 0, RECONNECT_MS));
    },
    noteFault: (fault, target, isOn) => tracer?.add({ kind: 'fault', fault, target, isOn }),
    noteAction: (name, status) => tracer?.add({ kind: 'action', name, status }),
    async close() {
      await settle();
      await life?.stop();
      await carrier.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

function describe(fields: object): string {
  const error = 'err' in fields ? fields.err : undefined;
  return error instanceof Error ? (error.stack ?? error.message) : JSON.stringify(fields);
}
