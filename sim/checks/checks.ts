// Every invariant of power safety, wired to one world: every event in it comes here, and violations are reported.
import type { ChargerAddress } from '../../machines/values/ids.js';
import type { EpochMs } from '../../machines/values/time.js';
import type { Metrics } from '../../src/metrics.js';
import type { Change } from '../../src/ports/store.js';
import type { TenantEntry } from '../../src/provisioning/provisioning-schema.js';
import type { LimitMessage } from '../../src/wire/mqtt.js';
import type { ChargerMessage } from '../charger/charger-message.js';
import type { VirtualCharger } from '../charger/virtual-charger.js';
import type { CallBook } from '../world/call-book.js';
import type { ChargerRun } from '../world/charger-run.js';
import type { LimitOracle, NewProfile } from '../world/limit-oracle.js';
import type { PowerWatch } from '../world/power-watch.js';
import type { RestAnswer } from '../world/rest-client.js';
import { createBoundsWatch } from './bounds-watch.js';
import type { ConnectorBook, LeaseTimes } from './connector-book.js';
import { DoubledMessages } from './doubled-messages.js';
import { ExchangeWatch } from './exchange-watch.js';
import { GrantWatch } from './grant-watch.js';
import { type Ask, isCancellation, type Question, type Soon } from './inquiry.js';
import { LimitReads } from './limit-reads.js';
import { LockWatch } from './lock-watch.js';
import { createMemberRemovals, type MemberRemovals } from './member-removals.js';
import { createReached, type Reached } from './reached.js';
import { createRecoveryWatch, type RecoveryWatch } from './recovery-watch.js';
import type { Report } from './report.js';
import { createSiteBooks } from './site-book.js';
import { TenantWalls } from './tenant-walls.js';
import { UncertainCalls } from './uncertain-calls.js';

export interface CheckedWorld {
  readonly tenants: readonly TenantEntry[];
  readonly oracle: LimitOracle;
  readonly watch: PowerWatch;
  readonly book: CallBook;
  readonly runs: readonly ChargerRun[];
  readonly times: LeaseTimes;
  readonly ask: Ask;
  readonly soon: Soon;
  /** Does it at an instant of the wall clock. */
  readonly at: (atMs: EpochMs, work: () => void) => void;
  /** Whether they can be told again: messages that are kept are what the garbage collector has most to do with. */
  readonly keepsMessages: boolean;
  readonly deliver: ((run: ChargerRun, message: ChargerMessage) => void) | undefined;
  readonly wallMs: () => EpochMs;
  readonly monotonicMs: () => number;
  readonly pendingTimers: () => number;
  readonly waiting: () => number;
  /** Of the service that lives; undefined where none does. */
  readonly metrics: () => Metrics | undefined;
  readonly report: Report;
}

/** A window is switched within this (P6). */
const SWITCHED_MS = 1_000;
const LOOK_EVERY_MS = 600_000;

export class Checks {
  /** What a check has to do to the world to find out: for worlds that are there to be struck. */
  readonly probes: Pick<MemberRemovals, 'probe'> & {
    readonly tenantWalls: TenantWalls['probe'];
    readonly tellAgain: (locationId: string) => Promise<void>;
  };
  readonly #world: CheckedWorld;
  readonly #oracle: CheckedWorld['oracle'];
  readonly #runs: CheckedWorld['runs'];
  readonly #soon: CheckedWorld['soon'];
  readonly #at: CheckedWorld['at'];
  readonly #wallMs: CheckedWorld['wallMs'];
  readonly #monotonicMs: CheckedWorld['monotonicMs'];
  readonly #report: CheckedWorld['report'];
  readonly #keepsMessages: CheckedWorld['keepsMessages'];
  readonly reached: Reached = createReached();
  readonly #books;
  readonly #sites;
  readonly #horizonMs: number;
  readonly #outlets = new Map<ConnectorBook, () => number>();
  #isBusy = false;
  #soundSinceMs = 0;
  readonly #exchange: ExchangeWatch;
  readonly #clock;
  readonly #grants: GrantWatch;
  readonly #locks: LockWatch;
  readonly #reads: LimitReads;
  readonly #uncertain: UncertainCalls;
  readonly #doubled: DoubledMessages;
  readonly #walls: TenantWalls;
  readonly #removals;
  readonly recovery: RecoveryWatch;
  readonly #bounds;

  constructor(world: CheckedWorld) {
    this.#world = world;
    this.#oracle = world.oracle;
    this.#runs = world.runs;
    this.#soon = world.soon;
    this.#at = world.at;
    this.#wallMs = world.wallMs;
    this.#monotonicMs = world.monotonicMs;
    this.#report = world.report;
    this.#keepsMessages = world.keepsMessages;
    this.#books = createSiteBooks(world.tenants, world.times);
    this.#sites = this.#books.sites;
    this.#horizonMs = world.times.leaseMs + world.times.settleMs;
    this.#exchange = new ExchangeWatch({
      books: this.#books,
      monotonicMs: this.#monotonicMs,
      reached: this.reached,
      report: this.#report,
    });
    this.#clock = { wallMs: this.#wallMs, monotonicMs: this.#monotonicMs };
    this.#grants = new GrantWatch({
      oracle: this.#oracle,
      watch: world.watch,
      sites: this.#sites,
      times: world.times,
      clock: this.#clock,
      reached: this.reached,
      report: this.#report,
    });
    this.#locks = new LockWatch({
      oracle: this.#oracle,
      wallMs: this.#wallMs,
      monotonicMs: this.#monotonicMs,
      report: this.#report,
      drawnA: (connector) => this.#outlets.get(connector)?.() ?? 0,
      soundSinceMs: () => (this.#isBusy ? this.#monotonicMs() : this.#soundSinceMs),
    });
    this.#reads = new LimitReads({
      oracle: this.#oracle,
      sites: this.#sites,
      horizonMs: this.#horizonMs,
      wallMs: this.#wallMs,
      ask: world.ask,
      reached: this.reached,
      report: this.#report,
    });
    this.#uncertain = new UncertainCalls({
      book: world.book,
      ask: world.ask,
      isKnownCluster: (id) => this.#oracle.clusters.has(id),
    });
    this.#doubled = new DoubledMessages({
      books: this.#books,
      runs: this.#runs,
      deliver: this.#world.deliver,
      ask: world.ask,
      reached: this.reached,
      report: this.#report,
    });
    this.#walls = new TenantWalls({
      books: this.#books,
      oracle: this.#oracle,
      ask: world.ask,
      reached: this.reached,
      report: this.#report,
    });
    this.#removals = createMemberRemovals({ ask: world.ask, reached: this.reached, report: this.#report });
    this.recovery = createRecoveryWatch({
      oracle: this.#oracle,
      runs: this.#runs,
      wallMs: this.#wallMs,
      horizonMs: this.#horizonMs,
      report: this.#report,
    });
    this.#bounds = createBoundsWatch({
      connectors: [...this.#sites.values()].reduce((sum, { connectors }) => sum + connectors.length, 0),
      ...this.#world,
    });
    this.#lookAgain();
    this.probes = {
      probe: this.#removals.probe,
      tenantWalls: () => this.#walls.probe(),
      tellAgain: (locationId) => this.#tellAgain(locationId),
    };
  }

  limitLeft(controllerUuid: string, connectorId: string, limit: LimitMessage): void {
    const connector = this.#books.byId(controllerUuid, connectorId);
    if (connector === undefined) return;
    if (!this.#outlets.has(connector))
      this.#outlets.set(connector, this.#drawOf(controllerUuid, connectorId));
    this.#locks.left(connector, limit);
    this.#grants.left(connector, limit);
  }

  said(charger: VirtualCharger, message: ChargerMessage): void {
    this.#exchange.said(charger, message);
  }

  heard(from: ChargerAddress, message: ChargerMessage): void {
    this.#exchange.heard(from, message);
    if (this.#keepsMessages) this.#doubled.heard(message);
  }

  /** A profile counts from now on. */
  submitted(target: string, { startTime, endTime }: NewProfile): void {
    const isLocation = this.#sites.has(target);
    const read = () => (isLocation ? this.#reads.location(target) : this.#reads.connector(target));
    for (const boundaryMs of [Date.parse(startTime), Date.parse(endTime)]) {
      this.#askAt(boundaryMs - 1, read);
      this.#askAt(boundaryMs, read);
      if (isLocation) this.#askAt(boundaryMs + SWITCHED_MS, () => this.#reads.enforced(target));
    }
  }

  /** The service answered a call, or did not. */
  async called(call: Question, tenantUuid: string, { status, body }: RestAnswer): Promise<void> {
    if (call.method === 'GET') return;
    if (status >= 500 && !this.#isBusy) {
      const detail = `${call.method} ${call.path} was answered ${status} ${JSON.stringify(body)}`;
      this.#report({ invariant: 'P14', target: 'service', detail });
    }
    if (status === 503) this.reached.note('refusedByBusyDatabase');
    if (status === 200 && isCancellation(call)) this.reached.note('profileCancelled');
    if (status === 0 || status >= 500) this.#uncertain.add(call, tenantUuid);
    if (this.#world.metrics() === undefined) return;
    await this.#uncertain.settle();
    await this.#readBack(call, tenantUuid);
  }

  written(changes: readonly Change[]): void {
    for (const change of changes) {
      if (change.kind === 'reservation.put') this.reached.note('reservationStored');
      if (change.kind !== 'alarm.begin') continue;
      if (change.alarm.kind === 'LIMIT_UNATTAINABLE') this.reached.note('unattainable');
      if (change.alarm.kind === 'NON_COMPLIANT') this.reached.note('quarantine');
    }
  }

  /** A life of the service began; everything that was acknowledged must be there. */
  async began(): Promise<void> {
    this.#soundSinceMs = this.#monotonicMs();
    await this.#uncertain.settle();
    await this.#reads.everything();
  }

  /** The service died. */
  ended(): void {
    this.#doubled.forget();
    for (const { connectors } of this.#sites.values()) for (const each of connectors) each.forgetDraw();
  }

  setDatabaseBusy(busy: boolean): void {
    this.#isBusy = busy;
    this.#soundSinceMs = this.#monotonicMs();
  }

  /** What is asked then is asked of the service that lives then, if any. */
  #askAt(atMs: EpochMs, question: () => Promise<void>): void {
    if (atMs > this.#wallMs()) this.#at(atMs, () => this.#soon(question));
  }

  #lookAgain(): void {
    this.#at(this.#wallMs() + LOOK_EVERY_MS, () => {
      this.#soon(this.#bounds.look);
      this.#lookAgain();
    });
  }

  #drawOf(controllerUuid: string, connectorId: string): () => number {
    const outlet = this.#runs
      .find(({ charger }) => charger.address.controllerUuid === controllerUuid)
      ?.charger.outlets.find(({ spec }) => spec.connectorId === connectorId);
    if (outlet === undefined) return () => 0;
    return () => outlet.physicalPowerW() / (outlet.spec.phases * outlet.spec.voltageV);
  }

  async #tellAgain(locationId: string): Promise<void> {
    if (!this.#keepsMessages) throw new Error('a world that keeps no messages cannot tell them again');
    await this.#doubled.tellAgain(locationId);
  }

  /** Reads back everything that the call may have changed. */
  async #readBack({ path }: Question, tenantUuid: string): Promise<void> {
    const [, kind, id = '', , connectorId = ''] = path.split('/');
    if (kind === 'locations') return this.#reads.location(decodeURIComponent(id));
    if (kind === 'chargers') return this.#reads.connector(`${id}/${connectorId}`);
    if (kind !== 'clusters') return;
    for (const locationId of this.#oracle.clusters.get(id)?.locationIds ?? [])
      if (this.#sites.get(locationId)?.tenantUuid === tenantUuid) await this.#reads.location(locationId);
  }
}
