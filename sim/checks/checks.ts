// Connects every invariant of power safety to one world: receives each of its events, and reports violations.
import type { ChargerAddress, ConnectorAddress } from '../../machines/values/ids.js';
import type { EpochMs } from '../../machines/values/time.js';
import type { Change } from '../../src/ports/store.js';
import type { LimitMessage } from '../../src/wire/mqtt.js';
import type { ChargerMessage } from '../charger/charger-message.js';
import { countedV } from '../charger/direct-current.js';
import type { ChargerRun, WorldCharger } from '../world/charger-run.js';
import type { NewProfile } from '../world/limit-oracle.js';
import type { Question, RestAnswer } from '../world/rest-client.js';
import type { CheckedWorld } from './checked-world.js';
import type { ConnectorBook } from './connector-book.js';
import { DepartureWatch } from './departure-watch.js';
import { EntitlementWatch } from './entitlement-watch.js';
import { ExchangeWatch } from './exchange-watch.js';
import { ForecastWatch } from './forecast-watch.js';
import { GrantWatch } from './grant-watch.js';
import { LateWatch } from './late-watch.js';
import { isCancellation, LimitReads, UncertainCalls } from './limit-reads.js';
import { LockWatch } from './lock-watch.js';
import { DoubledMessages, probeMemberRemovals, TenantIsolation } from './probes.js';
import { RecoveryWatch } from './recovery-watch.js';
import { SessionWatch } from './session-watch.js';
import { Stays } from './stays.js';

/** Timers of a service of any size: one host timer for each kind of due work. */
const TIMERS = 64;
/** Timers of each shard on each node: a frozen node has not noticed yet that others have replaced it. */
const TIMERS_OF_A_SHARD = 8;
/** Per connector: heartbeats, messages under way, and plans that an earlier event has overtaken. */
const WAITING_PER_CONNECTOR = 200;
const WAITING = 2_000;

const STORED_WITHIN_MS = 1_000;

/** Tracks which messages to the service are surely on disk: nothing is written while its database takes no writes. */
export class Disk {
  readonly #heartbeatMs: number;
  #isBusy = false;
  #busySinceMs = Number.NEGATIVE_INFINITY;
  /** By then everything received while the database was busy is written. */
  #caughtUpAtMs = Number.NEGATIVE_INFINITY;

  /** @param heartbeatMs delay after which a failed write is tried again */
  constructor(heartbeatMs: number) {
    this.#heartbeatMs = heartbeatMs;
  }

  /** The database takes no writes. */
  get isBusy(): boolean {
    return this.#isBusy;
  }

  setBusy(isBusy: boolean, nowMs: number): void {
    if (isBusy === this.#isBusy) return;
    this.#isBusy = isBusy;
    if (!isBusy) this.#caughtUpAtMs = nowMs + this.#heartbeatMs + STORED_WITHIN_MS;
    else if (nowMs >= this.#caughtUpAtMs) this.#busySinceMs = nowMs;
  }

  /** Everything received before the returned instant is on disk at `nowMs`. */
  storedUntilMs(nowMs: number): number {
    const isBehind = this.#isBusy || nowMs < this.#caughtUpAtMs;
    return (isBehind ? this.#busySinceMs : nowMs) - STORED_WITHIN_MS;
  }
}

/** A window boundary takes effect within this time (P6). */
const SWITCHED_MS = 1_000;
const LOOK_EVERY_MS = 600_000;

export class Checks {
  /** Checks that act on the world, for worlds in which faults are wanted. */
  readonly probes: {
    readonly memberRemovals: (tenantUuid: string, locationIds: readonly string[]) => Promise<void>;
    readonly tenantWalls: TenantIsolation['probe'];
    readonly tellAgain: DoubledMessages['tellAgain'];
  };
  readonly reached: CheckedWorld['reached'];
  readonly recovery: RecoveryWatch;
  readonly late: LateWatch;
  readonly #world: CheckedWorld;
  readonly #exchange: ExchangeWatch;
  readonly #grants: GrantWatch;
  readonly #entitlements: EntitlementWatch;
  readonly #locks: LockWatch;
  readonly #stays: Stays;
  readonly #sessions: SessionWatch;
  readonly #departures: DepartureWatch;
  readonly #forecasts: ForecastWatch;
  readonly #reads: LimitReads;
  readonly #uncertain: UncertainCalls;
  readonly #doubled: DoubledMessages;
  readonly #drawsA = new Map<ConnectorBook, () => number>();
  /** Cached by the address objects of one life of the service, whose texts are long to compare. */
  readonly #bookOf = new WeakMap<ConnectorAddress, ConnectorBook>();
  readonly #disk: Disk;
  #soundSinceMs = 0;

  constructor(world: CheckedWorld) {
    this.#world = world;
    this.reached = world.reached;
    this.#disk = new Disk(world.times.heartbeatMs);
    this.#exchange = new ExchangeWatch(world);
    this.#grants = new GrantWatch(world);
    this.#entitlements = new EntitlementWatch(world);
    const soundSinceMs = () => (this.#disk.isBusy ? world.monotonicMs() : this.#soundSinceMs);
    const drawnA = (connector: ConnectorBook) => this.#drawsA.get(connector)?.() ?? 0;
    this.#locks = new LockWatch({ ...world, drawnA, soundSinceMs });
    const stays = new Stays(world);
    this.#stays = stays;
    this.#sessions = new SessionWatch(world);
    this.#departures = new DepartureWatch({ ...world, soundSinceMs, stays });
    this.#forecasts = new ForecastWatch({ ...world, soundSinceMs, stays });
    this.late = new LateWatch({ ...world, connectorW: (connector) => this.#connectorW(connector) });
    this.#reads = new LimitReads(world);
    this.#uncertain = new UncertainCalls(world);
    this.#doubled = new DoubledMessages(world);
    this.recovery = new RecoveryWatch(world);
    const walls = new TenantIsolation(world);
    this.probes = {
      memberRemovals: (tenantUuid, locationIds) => probeMemberRemovals(world, tenantUuid, locationIds),
      tenantWalls: () => walls.probe(),
      tellAgain: (locationId) => this.#tellAgain(locationId),
    };
    this.#lookAgain();
  }

  limitLeft(address: ConnectorAddress, limit: LimitMessage): void {
    const connector = this.#bookOf.get(address) ?? this.#newlyAddressed(address);
    if (connector === undefined) return;
    const inAmperes = connector.inAmperes(limit);
    this.#locks.left(connector, inAmperes);
    this.#departures.left(connector, inAmperes);
    this.#grants.left(connector, inAmperes);
  }

  said(charger: WorldCharger, message: ChargerMessage): void {
    this.#exchange.said(charger, message);
  }

  /** The charger's permitted or physical draw may have changed. */
  changed(run: ChargerRun): void {
    if (run.charger.line !== undefined) this.#entitlements.changed(run.charger);
  }

  /** The charger restarted, and kept nothing. */
  forgot(run: ChargerRun): void {
    this.#entitlements.forgot(run.charger);
  }

  received(from: ChargerAddress, message: ChargerMessage): void {
    const taken = this.#exchange.received(from, message);
    if (taken !== undefined) {
      this.#stays.received(taken.book, taken.meter, taken.isOfOldBoot);
      this.#sessions.received(taken.book, taken.meter, taken.isOfOldBoot);
      this.#forecasts.received(taken.book);
    }
    if (message.kind === 'state') this.#entitlements.receivedState(from);
    if (this.#world.keepsMessages) this.#doubled.received(message);
  }

  /** The profile applies from now on. */
  submitted(target: string, { startTime, endTime }: NewProfile): void {
    const isLocation = this.#world.sites.has(target);
    const read = () => (isLocation ? this.#reads.location(target) : this.#reads.connector(target));
    for (const boundaryMs of [Date.parse(startTime), Date.parse(endTime)]) {
      this.#askAt(boundaryMs - 1, read);
      this.#askAt(boundaryMs, read);
      if (isLocation) this.#askAt(boundaryMs + SWITCHED_MS, () => this.#reads.enforced(target));
    }
  }

  /** The service answered a call, or gave no answer. */
  async called(call: Question, tenantUuid: string, { status, body }: RestAnswer): Promise<void> {
    if (call.method === 'GET') return;
    this.#forecasts.called();
    this.#declared(call, { status, body });
    if (status >= 500 && !this.#disk.isBusy) {
      const detail = `${call.method} ${call.path} was answered ${status} ${JSON.stringify(body)}`;
      this.#world.report({ invariant: 'P14', target: 'service', detail });
    }
    if (status === 503) this.reached.note('refusedByBusyDatabase');
    if (status === 200 && isCancellation(call)) this.reached.note('profileCancelled');
    if ((status === 0 || status >= 500) && !isOfSession(call.path)) this.#uncertain.add(call, tenantUuid);
    if (this.#world.metrics() === undefined) return;
    await this.#uncertain.resolve();
    await this.#readBack(call, tenantUuid);
  }

  written(changes: readonly Change[]): void {
    this.#sessions.written(changes);
    for (const change of changes) {
      if (change.kind === 'reservation.put') this.reached.note('reservationStored');
      if (change.kind !== 'alarm.begin') continue;
      if (change.alarm.kind === 'LIMIT_UNATTAINABLE') this.reached.note('unattainable');
      if (change.alarm.kind === 'NON_COMPLIANT') this.reached.note('quarantine');
    }
  }

  /** A life of the service began; it must have everything that was acknowledged. */
  async began(): Promise<void> {
    this.#soundSinceMs = this.#world.monotonicMs();
    this.#departures.began();
    await this.#uncertain.resolve();
    await this.#reads.everything();
  }

  /** The service died: everything that is not on disk is lost. */
  ended(): void {
    this.#doubled.forget();
    const storedUntilMs = this.#disk.storedUntilMs(this.#world.monotonicMs());
    this.#stays.ended(storedUntilMs);
    this.#sessions.ended();
    this.#forecasts.troubled();
    for (const { connectors } of this.#world.sites.values())
      for (const each of connectors) {
        each.metered.forget();
        each.received.forgetNewest();
        each.loseWords(storedUntilMs);
        if (each.receivedLeaseKind.lose(storedUntilMs)) this.#entitlements.unheard(each);
      }
  }

  /** A fault affects chargers or the service now. */
  troubled(): void {
    this.#forecasts.troubled();
  }

  setDatabaseBusy(busy: boolean): void {
    this.#soundSinceMs = this.#world.monotonicMs();
    this.#disk.setBusy(busy, this.#soundSinceMs);
  }

  /** Asks the service that runs at that instant, if any. */
  #askAt(atMs: EpochMs, question: () => Promise<void>): void {
    if (atMs > this.#world.nowMs()) this.#world.at(atMs, () => this.#world.soon(question));
  }

  #lookAgain(): void {
    this.#world.at(this.#world.nowMs() + LOOK_EVERY_MS, () => {
      this.#world.soon(() => this.#checkBounds());
      this.#lookAgain();
    });
  }

  /** Timers, due work and the delay of window boundaries must stay bounded while a world lives (P13, P6). */
  async #checkBounds(): Promise<void> {
    const { pendingTimers, waiting, metrics, stoodStill, shards, sites, report } = this.#world;
    const connectors = [...sites.values()].reduce((sum, site) => sum + site.connectors.length, 0);
    if (pendingTimers() > TIMERS + TIMERS_OF_A_SHARD * shards)
      report({ invariant: 'P13', target: 'timers', detail: `${pendingTimers()} timers are pending` });
    if (waiting() > WAITING + WAITING_PER_CONNECTOR * connectors)
      report({ invariant: 'P13', target: 'world', detail: `${waiting()} events are pending` });
    if (stoodStill()) return;
    const lag = await metrics()?.boundaryLagSeconds.get();
    const count = lag?.values.find(({ metricName }) => metricName?.endsWith('_count'))?.value ?? 0;
    const withinASecond = lag?.values.find(({ labels }) => Number(labels.le) === 1)?.value ?? count;
    if (withinASecond < count) {
      const detail = `${count - withinASecond} window boundaries were applied more than 1 s late`;
      report({ invariant: 'P6', target: 'scheduler', detail });
    }
  }

  #newlyAddressed(address: ConnectorAddress): ConnectorBook | undefined {
    const { controllerUuid, connectorId } = address;
    const book = this.#world.books.byId(controllerUuid, connectorId);
    if (book === undefined) return undefined;
    this.#bookOf.set(address, book);
    if (!this.#drawsA.has(book)) this.#drawsA.set(book, this.#drawOf(controllerUuid, connectorId));
    return book;
  }

  #drawOf(controllerUuid: string, connectorId: string): () => number {
    const outlet = this.#world.runs
      .find(({ charger }) => charger.address.controllerUuid === controllerUuid)
      ?.charger.outlets.find(({ spec }) => spec.connectorId === connectorId);
    if (outlet === undefined) return () => 0;
    return () => outlet.physicalPowerW() / (outlet.spec.phases * countedV(outlet.spec));
  }

  /** Before its first limit the connector is at its fail-safe. */
  #connectorW(book: ConnectorBook): number {
    const { failsafeA, wattsPerA } = book.facts;
    return wattsPerA * (this.#drawsA.get(book)?.() ?? failsafeA);
  }

  /** The call may have changed the declarations of a car. */
  #declared(call: Question, answer: RestAnswer): void {
    const [, kind, controllerUuid = '', , connectorId = ''] = call.path.split('/');
    if (kind !== 'chargers' || !isOfSession(call.path)) return;
    const book = this.#world.books.byId(controllerUuid, connectorId);
    if (book === undefined) return;
    this.#stays.called(book, call, answer);
    this.#forecasts.declared(book.site);
  }

  async #tellAgain(locationId: string): Promise<void> {
    if (!this.#world.keepsMessages) throw new Error('a world that keeps no messages cannot repeat them');
    await this.#doubled.tellAgain(locationId);
  }

  /** Reads back everything that the call may have changed. */
  async #readBack({ path }: Question, tenantUuid: string): Promise<void> {
    const [, kind, id = '', , connectorId = ''] = path.split('/');
    if (kind === 'locations') return this.#reads.location(decodeURIComponent(id));
    if (kind === 'chargers') return this.#reads.connector(`${id}/${connectorId}`);
    if (kind !== 'clusters') return;
    for (const locationId of this.#world.oracle.clusters.get(id)?.locationIds ?? [])
      if (this.#world.sites.get(locationId)?.tenantUuid === tenantUuid)
        await this.#reads.location(locationId);
  }
}

/** A declaration without an answer stays unknown; the departure watch judges that car no more. */
function isOfSession(path: string): boolean {
  return path.endsWith('/session');
}
