// Every invariant of power safety, wired to one world: every event in it comes here, and violations are reported.
import type { ChargerAddress } from '../../machines/ids.js';
import type { EpochMs } from '../../machines/time.js';
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
import { createDoubledMessages } from './doubled-messages.js';
import { createExchangeWatch } from './exchange-watch.js';
import { createGrantWatch } from './grant-watch.js';
import { type Ask, isCancellation, type Question, type Soon } from './inquiry.js';
import { createLimitReads } from './limit-reads.js';
import { createLockWatch } from './lock-watch.js';
import { createMemberRemovals, type MemberRemovals } from './member-removals.js';
import { createReached, type Reached } from './reached.js';
import { createRecoveryWatch, type RecoveryWatch } from './recovery-watch.js';
import type { Report } from './report.js';
import { createSiteBooks } from './site-book.js';
import { createTenantWalls, type TenantWalls } from './tenant-walls.js';
import { createUncertainCalls } from './uncertain-calls.js';

export interface Checks {
  readonly reached: Reached;
  readonly recovery: RecoveryWatch;
  /** What a check has to do to the world to find out: for worlds that are there to be struck. */
  readonly probes: Pick<MemberRemovals, 'probe'> & {
    readonly tenantWalls: TenantWalls['probe'];
    readonly tellAgain: (locationId: string) => Promise<void>;
  };
  limitLeft(controllerUuid: string, connectorId: string, limit: LimitMessage): void;
  said(charger: VirtualCharger, message: ChargerMessage): void;
  heard(from: ChargerAddress, message: ChargerMessage): void;
  /** A profile counts from now on. */
  submitted(target: string, profile: NewProfile): void;
  /** The service answered a call, or did not. */
  called(call: Question, tenantUuid: string, answer: RestAnswer): Promise<void>;
  written(changes: readonly Change[]): void;
  /** A life of the service began; everything that was acknowledged must be there. */
  began(): Promise<void>;
  /** The service died. */
  ended(): void;
  setDatabaseBusy(isBusy: boolean): void;
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

export function createChecks(world: CheckedWorld): Checks {
  const {
    tenants,
    oracle,
    watch,
    book,
    runs,
    times,
    ask,
    soon,
    at,
    wallMs,
    monotonicMs,
    report,
    keepsMessages,
  } = world;
  const reached = createReached();
  const books = createSiteBooks(tenants, times);
  const { sites } = books;
  const horizonMs = times.leaseMs + times.settleMs;
  const outlets = new Map<ConnectorBook, () => number>();
  let isBusy = false;
  let soundSinceMs = 0;

  const exchange = createExchangeWatch({ books, monotonicMs, reached, report });
  const clock = { wallMs, monotonicMs };
  const grants = createGrantWatch({ oracle, watch, sites, times, clock, reached, report });
  const locks = createLockWatch({
    oracle,
    wallMs,
    monotonicMs,
    report,
    drawnA: (connector) => outlets.get(connector)?.() ?? 0,
    soundSinceMs: () => (isBusy ? monotonicMs() : soundSinceMs),
  });
  const reads = createLimitReads({ oracle, sites, horizonMs, wallMs, ask, reached, report });
  const uncertain = createUncertainCalls({ book, ask, isKnownCluster: (id) => oracle.clusters.has(id) });
  const doubled = createDoubledMessages({ books, runs, deliver: world.deliver, ask, reached, report });
  const walls = createTenantWalls({ books, oracle, ask, reached, report });
  const removals = createMemberRemovals({ ask, reached, report });
  const recovery = createRecoveryWatch({ oracle, runs, wallMs, horizonMs, report });
  const bounds = createBoundsWatch({
    connectors: [...sites.values()].reduce((sum, { connectors }) => sum + connectors.length, 0),
    ...world,
  });

  /** What is asked then is asked of the service that lives then, if any. */
  function askAt(atMs: EpochMs, question: () => Promise<void>): void {
    if (atMs > wallMs()) at(atMs, () => soon(question));
  }

  function lookAgain(): void {
    at(wallMs() + LOOK_EVERY_MS, () => {
      soon(bounds.look);
      lookAgain();
    });
  }
  lookAgain();

  function drawOf(controllerUuid: string, connectorId: string): () => number {
    const outlet = runs
      .find(({ charger }) => charger.address.controllerUuid === controllerUuid)
      ?.charger.outlets.find(({ spec }) => spec.connectorId === connectorId);
    if (outlet === undefined) return () => 0;
    return () => outlet.physicalPowerW() / (outlet.spec.phases * outlet.spec.voltageV);
  }

  async function tellAgain(locationId: string): Promise<void> {
    if (!keepsMessages) throw new Error('a world that keeps no messages cannot tell them again');
    await doubled.tellAgain(locationId);
  }

  /** Reads back everything that the call may have changed. */
  async function readBack({ path }: Question, tenantUuid: string): Promise<void> {
    const [, kind, id = '', , connectorId = ''] = path.split('/');
    if (kind === 'locations') return reads.location(decodeURIComponent(id));
    if (kind === 'chargers') return reads.connector(`${id}/${connectorId}`);
    if (kind !== 'clusters') return;
    for (const locationId of oracle.clusters.get(id)?.locationIds ?? [])
      if (sites.get(locationId)?.tenantUuid === tenantUuid) await reads.location(locationId);
  }

  return {
    reached,
    recovery,
    probes: { probe: removals.probe, tenantWalls: walls.probe, tellAgain },
    limitLeft(controllerUuid, connectorId, limit) {
      const connector = books.byId(controllerUuid, connectorId);
      if (connector === undefined) return;
      if (!outlets.has(connector)) outlets.set(connector, drawOf(controllerUuid, connectorId));
      locks.left(connector, limit);
      grants.left(connector, limit);
    },
    said: exchange.said,
    heard(from, message) {
      exchange.heard(from, message);
      if (keepsMessages) doubled.heard(message);
    },
    submitted(target, { startTime, endTime }) {
      const isLocation = sites.has(target);
      const read = () => (isLocation ? reads.location(target) : reads.connector(target));
      for (const boundaryMs of [Date.parse(startTime), Date.parse(endTime)]) {
        askAt(boundaryMs - 1, read);
        askAt(boundaryMs, read);
        if (isLocation) askAt(boundaryMs + SWITCHED_MS, () => reads.enforced(target));
      }
    },
    async called(call, tenantUuid, { status, body }) {
      if (call.method === 'GET') return;
      if (status >= 500 && !isBusy) {
        const detail = `${call.method} ${call.path} was answered ${status} ${JSON.stringify(body)}`;
        report({ invariant: 'P14', target: 'service', detail });
      }
      if (status === 503) reached.note('refusedByBusyDatabase');
      if (status === 200 && isCancellation(call)) reached.note('profileCancelled');
      if (status === 0 || status >= 500) uncertain.add(call, tenantUuid);
      if (world.metrics() === undefined) return;
      await uncertain.settle();
      await readBack(call, tenantUuid);
    },
    written(changes) {
      for (const change of changes) {
        if (change.kind === 'reservation.put') reached.note('reservationStored');
        if (change.kind !== 'alarm.begin') continue;
        if (change.alarm.kind === 'LIMIT_UNATTAINABLE') reached.note('unattainable');
        if (change.alarm.kind === 'NON_COMPLIANT') reached.note('quarantine');
      }
    },
    async began() {
      soundSinceMs = monotonicMs();
      await uncertain.settle();
      await reads.everything();
    },
    ended() {
      doubled.forget();
      for (const { connectors } of sites.values()) for (const each of connectors) each.forgetDraw();
    },
    setDatabaseBusy(busy) {
      isBusy = busy;
      soundSinceMs = monotonicMs();
    },
  };
}
