// Connects every invariant of power safety to one world: receives each of its events, and reports violations.
import type { ChargerAddress, ConnectorAddress } from '../../machines/values/ids.js';
import type { EpochMs } from '../../machines/values/time.js';
import type { Metrics } from '../../src/metrics.js';
import type { Change } from '../../src/ports/store.js';
import type { TenantEntry } from '../../src/provisioning/provisioning-schema.js';
import type { LimitMessage } from '../../src/wire/mqtt.js';
import type { ChargerMessage } from '../charger/charger-message.js';
import { countedV } from '../charger/direct-current.js';
import type { CallBook } from '../world/call-book.js';
import type { ChargerRun, WorldCharger } from '../world/charger-run.js';
import type { LimitOracle, NewProfile } from '../world/limit-oracle.js';
import type { PowerWatch, Report } from '../world/power-watch.js';
import type { RestAnswer } from '../world/rest-client.js';
import { type BoundsWatch, createBoundsWatch } from './bounds-watch.js';
import type { ConnectorBook, LeaseTimes } from './connector-book.js';
import { DoubledMessages } from './doubled-messages.js';
import { EntitlementWatch } from './entitlement-watch.js';
import { ExchangeWatch } from './exchange-watch.js';
import { GrantWatch } from './grant-watch.js';
import { type Ask, isCancellation, type Question, type Soon } from './inquiry.js';
import { LateWatch } from './late-watch.js';
import { LimitReads } from './limit-reads.js';
import { LockWatch } from './lock-watch.js';
import { createReached, type Reached } from './reached.js';
import { createRecoveryWatch, type RecoveryWatch } from './recovery-watch.js';
import { createSiteBooks, type SiteBooks } from './site-book.js';
import { TenantIsolation } from './tenant-isolation.js';
import { UncertainCalls } from './uncertain-calls.js';

// Removes all members of a cluster at the same time: one must stay, and every other confirmed removal must hold
// (P10).
interface MemberRemovals {
  /** Uses a cluster of its own, without a cap, which limits no member and is deleted afterwards. */
  probe(tenantUuid: string, locationIds: readonly string[]): Promise<void>;
}

function createMemberRemovals(options: {
  readonly ask: Ask;
  readonly reached: Reached;
  readonly report: Report;
}): MemberRemovals {
  const { ask, reached, report } = options;

  return {
    async probe(tenantUuid, locationIds) {
      const body = { name: 'removals', locationIds };
      const created = await ask({ method: 'POST', path: '/clusters', body }, tenantUuid);
      if (created.status !== 201) return;
      const { clusterId } = created.body as { clusterId: string };
      const path = `/clusters/${clusterId}`;
      const answers = await Promise.all(
        locationIds.map((id) => ask({ method: 'DELETE', path: `${path}/locations/${id}` }, tenantUuid)),
      );
      const left = await ask({ method: 'GET', path }, tenantUuid);
      await ask({ method: 'DELETE', path }, tenantUuid);
      const kept = locationIds.filter((_, i) => answers[i]?.status !== 200);
      const members = (left.body as { locationIds?: readonly string[] }).locationIds ?? [];
      const refused = answers.filter(({ status }) => status !== 200);
      const isRight =
        refused.length === 1 &&
        JSON.stringify(refused[0]?.body).includes('"CLUSTER_EMPTY"') &&
        JSON.stringify(members) === JSON.stringify(kept);
      if (answers.every(({ status }) => status === 200 || status === 400)) reached.note('concurrentRemovals');
      // A busy database may refuse any removal.
      if (isRight || answers.some(({ status }) => status === 503)) return;
      const detail = `removals were answered ${answers.map(({ status }) => status).join(', ')}, ${members.join(', ')} stayed`;
      report({ invariant: 'P10', target: clusterId, detail });
    },
  };
}

// Tracks which messages to the service are surely on disk: nothing is written while its database takes no writes.
const STORED_WITHIN_MS = 1_000;

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

export interface CheckedWorld {
  readonly tenants: readonly TenantEntry[];
  readonly oracle: LimitOracle;
  readonly watch: PowerWatch;
  readonly book: CallBook;
  readonly runs: readonly ChargerRun[];
  readonly times: LeaseTimes;
  readonly ask: Ask;
  readonly soon: Soon;
  /** Runs `work` at an instant of the wall clock. */
  readonly at: (atMs: EpochMs, work: () => void) => void;
  /** Keeps messages for repetition, which causes most of the garbage collector's work. */
  readonly keepsMessages: boolean;
  readonly deliver: ((run: ChargerRun, message: ChargerMessage) => void) | undefined;
  readonly wallMs: () => EpochMs;
  readonly monotonicMs: () => number;
  /** Lowest recent limit of the grid operator for a location, W. */
  readonly operatorW: (locationId: string) => number;
  /** The grid operator may order less at any moment. */
  readonly areOrdersExpected: (locationId: string) => boolean;
  readonly pendingTimers: () => number;
  readonly waiting: () => number;
  /** Metrics of the running service; undefined if none runs. */
  readonly metrics: () => Metrics | undefined;
  readonly stoodStill: () => boolean;
  /** Number of shards on all nodes together; 0 for a service without shards. */
  readonly shards: number;
  readonly report: Report;
}

/** A window boundary takes effect within this time (P6). */
const SWITCHED_MS = 1_000;
const LOOK_EVERY_MS = 600_000;

export class Checks {
  /** Checks that act on the world, for worlds in which faults are wanted. */
  readonly probes: {
    readonly memberRemovals: MemberRemovals['probe'];
    readonly tenantWalls: TenantIsolation['probe'];
    readonly tellAgain: (locationId: string) => Promise<void>;
  };
  readonly reached: Reached = createReached();
  readonly recovery: RecoveryWatch;
  readonly late: LateWatch;
  readonly #world: CheckedWorld;
  readonly #books: SiteBooks;
  readonly #exchange: ExchangeWatch;
  readonly #grants: GrantWatch;
  readonly #entitlements: EntitlementWatch;
  readonly #locks: LockWatch;
  readonly #reads: LimitReads;
  readonly #uncertain: UncertainCalls;
  readonly #doubled: DoubledMessages;
  readonly #bounds: BoundsWatch;
  readonly #drawsA = new Map<ConnectorBook, () => number>();
  /** Cached by the address objects of one life of the service, whose texts are long to compare. */
  readonly #bookOf = new WeakMap<ConnectorAddress, ConnectorBook>();
  readonly #disk: Disk;
  #soundSinceMs = 0;

  constructor(world: CheckedWorld) {
    this.#world = world;
    this.#books = createSiteBooks(world.tenants, world.times);
    this.#disk = new Disk(world.times.heartbeatMs);
    // Everything that the checks need of the world and of each other; each check takes the parts that it names.
    const given = {
      ...world,
      books: this.#books,
      sites: this.#books.sites,
      reached: this.reached,
    };
    this.#exchange = new ExchangeWatch(given);
    this.#grants = new GrantWatch({ ...given, clock: world });
    this.#entitlements = new EntitlementWatch(given);
    this.#locks = new LockWatch({
      ...given,
      drawnA: (connector) => this.#drawsA.get(connector)?.() ?? 0,
      soundSinceMs: () => (this.#disk.isBusy ? world.monotonicMs() : this.#soundSinceMs),
    });
    this.late = new LateWatch({ ...given, drawnW: (connector) => this.#drawnWOf(connector) });
    this.#reads = new LimitReads(given);
    this.#uncertain = new UncertainCalls({
      ...given,
      isKnownCluster: (id) => world.oracle.clusters.has(id),
    });
    this.#doubled = new DoubledMessages(given);
    this.recovery = createRecoveryWatch(given);
    this.#bounds = createBoundsWatch({ ...given, connectors: connectorsOf(this.#books) });
    this.probes = this.#createProbes(new TenantIsolation(given), createMemberRemovals(given));
    this.#lookAgain();
  }

  limitLeft(address: ConnectorAddress, limit: LimitMessage): void {
    const connector = this.#bookOf.get(address) ?? this.#newlyAddressed(address);
    if (connector === undefined) return;
    const inAmperes = connector.inAmperes(limit);
    this.#locks.left(connector, inAmperes);
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
    this.#exchange.received(from, message);
    if (message.kind === 'state') this.#entitlements.receivedState(from);
    if (this.#world.keepsMessages) this.#doubled.received(message);
  }

  /** The profile applies from now on. */
  submitted(target: string, { startTime, endTime }: NewProfile): void {
    const isLocation = this.#books.sites.has(target);
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
    if (status >= 500 && !this.#disk.isBusy) {
      const detail = `${call.method} ${call.path} was answered ${status} ${JSON.stringify(body)}`;
      this.#world.report({ invariant: 'P14', target: 'service', detail });
    }
    if (status === 503) this.reached.note('refusedByBusyDatabase');
    if (status === 200 && isCancellation(call)) this.reached.note('profileCancelled');
    if (status === 0 || status >= 500) this.#uncertain.add(call, tenantUuid);
    if (this.#world.metrics() === undefined) return;
    await this.#uncertain.resolve();
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

  /** A life of the service began; it must have everything that was acknowledged. */
  async began(): Promise<void> {
    this.#soundSinceMs = this.#world.monotonicMs();
    await this.#uncertain.resolve();
    await this.#reads.everything();
  }

  /** The service died: everything that is not on disk is lost. */
  ended(): void {
    this.#doubled.forget();
    const storedUntilMs = this.#disk.storedUntilMs(this.#world.monotonicMs());
    for (const { connectors } of this.#books.sites.values())
      for (const each of connectors) {
        each.metered.forget();
        each.loseWords(storedUntilMs);
        if (each.receivedLeaseKind.lose(storedUntilMs)) this.#entitlements.unheard(each);
      }
  }

  setDatabaseBusy(busy: boolean): void {
    this.#soundSinceMs = this.#world.monotonicMs();
    this.#disk.setBusy(busy, this.#soundSinceMs);
  }

  #createProbes(walls: TenantIsolation, removals: MemberRemovals): Checks['probes'] {
    return {
      memberRemovals: (tenantUuid, locationIds) => removals.probe(tenantUuid, locationIds),
      tenantWalls: () => walls.probe(),
      tellAgain: (locationId) => this.#tellAgain(locationId),
    };
  }

  /** Asks the service that runs at that instant, if any. */
  #askAt(atMs: EpochMs, question: () => Promise<void>): void {
    if (atMs > this.#world.wallMs()) this.#world.at(atMs, () => this.#world.soon(question));
  }

  #lookAgain(): void {
    this.#world.at(this.#world.wallMs() + LOOK_EVERY_MS, () => {
      this.#world.soon(() => this.#bounds.look());
      this.#lookAgain();
    });
  }

  #newlyAddressed(address: ConnectorAddress): ConnectorBook | undefined {
    const { controllerUuid, connectorId } = address;
    const book = this.#books.byId(controllerUuid, connectorId);
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
  #drawnWOf(book: ConnectorBook): number {
    const { failsafeA, wattsPerA } = book.facts;
    return wattsPerA * (this.#drawsA.get(book)?.() ?? failsafeA);
  }

  async #tellAgain(locationId: string): Promise<void> {
    if (!this.#world.keepsMessages) throw new Error('a world that keeps no messages cannot tell them again');
    await this.#doubled.tellAgain(locationId);
  }

  /** Reads back everything that the call may have changed. */
  async #readBack({ path }: Question, tenantUuid: string): Promise<void> {
    const [, kind, id = '', , connectorId = ''] = path.split('/');
    if (kind === 'locations') return this.#reads.location(decodeURIComponent(id));
    if (kind === 'chargers') return this.#reads.connector(`${id}/${connectorId}`);
    if (kind !== 'clusters') return;
    for (const locationId of this.#world.oracle.clusters.get(id)?.locationIds ?? [])
      if (this.#books.sites.get(locationId)?.tenantUuid === tenantUuid)
        await this.#reads.location(locationId);
  }
}

function connectorsOf({ sites }: SiteBooks): number {
  return [...sites.values()].reduce((sum, { connectors }) => sum + connectors.length, 0);
}
