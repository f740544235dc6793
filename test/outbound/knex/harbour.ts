// Two tenants with the same ids wherever possible, and short functions to write and read their rows.

import type {
  ClusterId,
  ConnectorId,
  ControllerUuid,
  LocationId,
  TenantUuid,
} from '../../../machines/values/ids.js';
import { systemClock } from '../../../src/clock.js';
import { readAlarms } from '../../../src/features/alarms/rows.js';
import { readPowerHistory } from '../../../src/features/power-history/rows.js';
import { readPermanentLimits, readProfileHistory } from '../../../src/features/profiles/rows.js';
import { createMetrics } from '../../../src/metrics.js';
import { createAdministration } from '../../../src/outbound/knex/administration.js';
import { createStore, type StoreOptions } from '../../../src/outbound/knex/store.js';
import type { ProvisionedTenant } from '../../../src/ports/administration.js';
import type { Clock } from '../../../src/ports/clock.js';
import type { Log } from '../../../src/ports/log.js';
import type {
  AlarmRecord,
  ClusterRecord,
  PowerRecord,
  ProfileTarget,
  ReservationRecord,
} from '../../../src/ports/records.js';
import type { Change, Store } from '../../../src/ports/store.js';

export const HARBOUR = '0b6cf0c4-6d0f-4e0e-9f0a-5f6c3b1d2a10' as TenantUuid;
export const RIVAL = '5d1f2a77-9b1e-4c43-8a55-0f7c9b9d3e21' as TenantUuid;
export const QUAY = 'quay-1' as LocationId;
export const PIER = 'pier' as LocationId;
export const RIVALS_ONLY = 'rivals-only' as LocationId;
export const CRANE = 'crane' as ControllerUuid;
export const QUAY_TARGET: ProfileTarget = { kind: 'location', locationId: QUAY };
export const CRANE_TARGET: ProfileTarget = {
  kind: 'connector',
  controllerUuid: CRANE,
  connectorId: '1' as ConnectorId,
};
export const ORGANIZATION: ProfileTarget = { kind: 'organization' };
export const ALL_TIME = { startsAtMs: 0, endsAtMs: Number.MAX_SAFE_INTEGER };

export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} };

type Location = ProvisionedTenant['locations'][number];

/** A location with these chargers, each with connectors "1" and "2". */
export function location(locationId: LocationId, chargers: readonly string[] = [], over = {}): Location {
  return {
    locationId,
    name: `Location ${locationId}`,
    status: 'ACTIVE',
    permanentLimitKw: 50,
    gridLimitKw: 80,
    operator: null,
    siteMeter: null,
    chargers: chargers.map((controllerUuid) => ({
      controllerUuid: controllerUuid as ControllerUuid,
      mqttSecretHash: `hash of ${controllerUuid}`,
      connectors: ['1', '2'].map((connectorId) => ({
        connectorId: connectorId as ConnectorId,
        status: 'ACTIVE',
        phases: 3,
        voltageV: 230,
        maxCurrentA: 32,
        failsafeA: 6,
      })),
    })),
    ...over,
  };
}

/** A tenant with only these locations. */
export function tenant(
  tenantUuid: TenantUuid,
  locations: readonly Location[],
  over: Partial<ProvisionedTenant> = {},
): ProvisionedTenant {
  return {
    tenantUuid,
    name: 'A tenant',
    features: ['energy-management'],
    apiKeys: [],
    oauthClients: [],
    gateways: [],
    locations,
    ...over,
  };
}

export const HARBOUR_TENANT = tenant(HARBOUR, [location(QUAY, [CRANE]), location(PIER)]);
export const RIVAL_TENANT = tenant(RIVAL, [location(QUAY, [CRANE]), location(RIVALS_ONLY, ['rival-crane'])]);

/** A profile of `limitKw` at `priority`, submitted at `atMs`. */
export function put(
  target: ProfileTarget,
  { priority = 0, limitKw = 10, startsAtMs = 1000, endsAtMs = 2000, atMs = 1 } = {},
): Change {
  return { kind: 'profile.put', target, profile: { priority, limitKw, startsAtMs, endsAtMs }, atMs };
}

/** Cancels, at `atMs`, the profile at `priority`. */
export function cancel(target: ProfileTarget, priority = 0, atMs = 1): Change {
  return { kind: 'profile.cancel', target, priority, atMs };
}

/** Outstanding grants of connector 1 of the crane: 16 A, then 6 A. */
export function reservation(over: Partial<ReservationRecord> = {}): ReservationRecord {
  return {
    controllerUuid: CRANE,
    connectorId: '1' as ConnectorId,
    limitTenthsA: 160,
    thenTenthsA: 60,
    lease: 'heartbeat',
    ttlMs: 60_000,
    phases: null,
    ...over,
  };
}

/** Replaces the stored grants of connector 1 of the crane. */
export function reserve(over: Partial<ReservationRecord> = {}): Change {
  return { kind: 'reservation.put', reservation: reservation(over) };
}

/** An open alarm of the quay. */
export function alarm(alarmId: string, over: Partial<AlarmRecord> = {}): AlarmRecord {
  return {
    alarmId,
    kind: 'LIMIT_UNATTAINABLE',
    locationId: QUAY,
    controllerUuid: null,
    connectorId: null,
    reason: 'The locked connectors need 12 A of 10 A.',
    firstReason: over.reason ?? 'The locked connectors need 12 A of 10 A.',
    beganAtMs: 1000,
    endedAtMs: null,
    acknowledgement: null,
    isWithheld: false,
    mutedUntilMs: null,
    ...over,
  };
}

/** The beginning of an alarm of the quay. */
export function begin(alarmId: string, over: Partial<AlarmRecord> = {}): Change {
  return { kind: 'alarm.begin', alarm: alarm(alarmId, over) };
}

export function end(alarmId: string, endedAtMs: number): Change {
  return { kind: 'alarm.end', alarm: alarm(alarmId, { endedAtMs }) };
}

const MINUTE = {
  meanW: 1000,
  maxW: 2000,
  estimatedW: null,
  limitW: 50_000,
  meanLimitW: 60_000,
  currents: null,
  feeders: [],
  building: null,
};

/** A minute of a location's power that begins at `atMs`. */
export function minute(
  atMs: number,
  over: Partial<PowerRecord> & { readonly locationId?: LocationId } = {},
): Change {
  const { locationId = QUAY, ...power } = over;
  return {
    kind: 'power.put',
    locationId,
    minute: { ...MINUTE, atMs, ...power },
  };
}

/** A cluster with these members. */
export function cluster(
  clusterId: string,
  locationIds: readonly LocationId[],
  over: Partial<ClusterRecord> = {},
): ClusterRecord {
  return {
    clusterId: clusterId as ClusterId,
    name: `Cluster ${clusterId}`,
    locationIds,
    limitKw: null,
    status: 'ACTIVE',
    createdAtMs: 5,
    updatedAtMs: 6,
    ...over,
  };
}

export async function provisionAll(
  databaseUrl: string,
  tenants: readonly ProvisionedTenant[],
): Promise<void> {
  const administration = await createAdministration({ databaseUrl });
  for (const each of tenants) await administration.provision(each, { dryRun: false, atMs: 1 });
  await administration.close();
}

/** A store over `databaseUrl`, and its metrics. */
export async function openStore(
  databaseUrl: string,
  journal: StoreOptions['journal'] = {},
  clock: Clock = systemClock,
) {
  const metrics = createMetrics();
  const store = await createStore({ databaseUrl, clock, log: silentLog, metrics, journal });
  return { store, metrics };
}

/** All rows of both tenants, to compare before and after. */
export async function everything(store: Store) {
  const read = (tenantUuid: TenantUuid) =>
    Promise.all([
      store.loadTenant(tenantUuid),
      store.read((trx) => readProfileHistory(trx, tenantUuid, QUAY_TARGET, ALL_TIME)),
      store.read((trx) => readProfileHistory(trx, tenantUuid, CRANE_TARGET, ALL_TIME)),
      store.read((trx) => readProfileHistory(trx, tenantUuid, ORGANIZATION, ALL_TIME)),
      store.read((trx) => readPermanentLimits(trx, tenantUuid, QUAY)),
      store.read((trx) =>
        readAlarms(trx, tenantUuid, { locationId: undefined, window: ALL_TIME, count: 1000 }),
      ),
      store.read((trx) => readPowerHistory(trx, tenantUuid, QUAY, ALL_TIME, 60_000)),
    ]);
  return {
    harbour: await read(HARBOUR),
    rival: await read(RIVAL),
    credentials: await store.loadCredentials(),
  };
}
