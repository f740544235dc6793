// The actors of a small tenant on a virtual clock, built from rows as at a start: two locations, a lock, a cluster.
import type { Grant } from '../../machines/ledger/grant.js';
import type {
  ClusterId,
  ConnectorId,
  ControllerUuid,
  LocationId,
  TenantUuid,
} from '../../machines/values/ids.js';
import { createVirtualClock } from '../../sim/virtual-clock.js';
import { Assembly } from '../../src/actors/assembly.js';
import type { LocationEntity, TimedEntity } from '../../src/actors/directory.js';
import { Directory } from '../../src/actors/directory.js';
import { createRecovery } from '../../src/actors/recovery.js';
import { Scheduler } from '../../src/actors/scheduler.js';
import { Enforcement } from '../../src/enforcement/enforcement.js';
import { OpenAlarms } from '../../src/enforcement/open-alarms.js';
import { Reservations } from '../../src/enforcement/reservations.js';
import { ConnectorTelemetryHandler } from '../../src/enforcement/telemetry-handler.js';
import { createMetrics } from '../../src/metrics.js';
import type { ConnectorRecord, LocationRecord, ProfileRecord, TenantState } from '../../src/ports/records.js';
import type { Change } from '../../src/ports/store.js';
import type { ConnectorMeter } from '../../src/ports/telemetry.js';

export const START_MS = Date.parse('2026-06-01T12:00:00Z');
export const HARBOUR = '0b6cf0c4-6d0f-4e0e-9f0a-5f6c3b1d2a10' as TenantUuid;
export const QUAY = 'quay-1' as LocationId;
export const PIER = 'pier' as LocationId;
export const CRANE: ConnectorRecord = {
  dc: null,
  neverPause: false,
  operatorMayPause: false,
  departures: null,
  controllerUuid: 'crane' as ControllerUuid,
  connectorId: '1' as ConnectorId,
  status: 'ACTIVE',
  phases: 3,
  voltageV: 230,
  maxCurrentA: 32,
  failsafeA: 6,
  rotation: null,
  timing: null,
  feeder: null,
};

export function location(
  locationId: LocationId,
  connectors: readonly ConnectorRecord[] = [],
): LocationRecord {
  return {
    locationId,
    name: locationId,
    status: 'ACTIVE',
    permanentLimitKw: 50,
    gridLimitKw: null,
    operator: null,
    siteMeter: null,
    limitRules: {},
    policy: 'equal',
    departures: null,
    timeZone: null,
    connection: null,
    feeders: [],
    connectors,
  };
}

function profileOf(target: ProfileRecord['target'], limitKw: number, endsInMs: number): ProfileRecord {
  return { target, priority: 3, limitKw, startsAtMs: START_MS, endsAtMs: START_MS + endsInMs };
}

export const ROWS: TenantState = {
  locations: [location(PIER), location(QUAY, [CRANE])],
  clusters: [
    {
      clusterId: 'both' as ClusterId,
      name: 'Both',
      locationIds: [QUAY, PIER],
      limitKw: 40,
      status: 'ACTIVE',
      createdAtMs: START_MS,
      updatedAtMs: START_MS,
    },
  ],
  profiles: [
    profileOf({ kind: 'location', locationId: QUAY }, 30, 60_000),
    profileOf({ kind: 'connector', ...CRANE }, 11, 30_000),
    profileOf({ kind: 'organization' }, 500, 60_000),
  ],
  reservations: [],
  openAlarms: [],
  operatorEvents: [],
  sessionNeeds: [],
  billedWindows: [],
  offlineChargers: [],
  alarmMutes: [],
};

const TIMING = { heartbeatMs: 10_000, ttlMs: 60_000, settleMs: 10_000 };

export type Harbour = ReturnType<typeof createHarbour>;

/** @param isOnDisk resolves once the writes are on disk */
export function createHarbour(rows: TenantState = ROWS, isOnDisk: () => Promise<void> = async () => {}) {
  const clock = createVirtualClock(START_MS);
  const defects: unknown[] = [];
  const effects: object[] = [];
  const scheduler = new Scheduler<TimedEntity>(clock, 'wall');
  const directory = new Directory(clock, scheduler);
  const grants: Grant[] = [];
  const written: Change[] = [];
  const store = {
    async append(_: TenantUuid, changes: readonly Change[]): Promise<void> {
      await isOnDisk();
      written.push(...changes);
    },
  };
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  const onDefect = (_: TenantUuid, error: unknown) => void defects.push(error);
  const enforcement = new Enforcement({
    clock,
    log,
    directory,
    timing: TIMING,
    metrics: createMetrics(),
    overload: { areRaisesWaiting: false },
    publisher: { publishLimit: (_, grant) => void grants.push(grant), requestSync() {} },
    reservations: new Reservations({ store, log, clock }),
    alarms: new OpenAlarms({ clock, log, newId: () => 'alarm', write() {}, onAlarm() {} }),
    onGrant() {},
    onSessionsEnded() {},
    onDefect,
  });
  directory.listen({
    onEffect(left) {
      effects.push(left.effect);
      enforcement.onEffect(left);
    },
    onPlan: (location) => enforcement.decideSoon(location),
  });
  const recovery = createRecovery(
    directory,
    new Assembly({
      clock,
      directory,
      timing: TIMING,
      ownerTerm: 1,
      onDefect,
    }),
  );
  scheduler.start({
    atMost: 1_000,
    lookEveryMs: 1_000,
    onDue: (due, now) => directory.tellBoundaries([...due], now),
  });
  recovery.reconcile(HARBOUR, rows, clock.nowMs());
  const sink = new ConnectorTelemetryHandler({
    directory,
    enforcement,
    clock,
    receiveSite: () => undefined,
  });
  return {
    clock,
    directory,
    recovery,
    enforcement,
    defects,
    effects,
    grants,
    written,
    sink,
    meterOf(locationId: LocationId, { controllerUuid, connectorId }: ConnectorRecord): ConnectorMeter {
      const meter = sink.connectorMeter(HARBOUR, locationId, controllerUuid, connectorId);
      if (meter === undefined) throw new Error(`there is no ${controllerUuid} at ${locationId}`);
      return meter;
    },
    quay(): LocationEntity {
      const found = directory.tenants.get(HARBOUR)?.locations.get(QUAY);
      if (found === undefined) throw new Error('there is no quay');
      return found;
    },
  };
}
