// Locations with their chargers' connectors, as rows.
import type { Knex } from 'knex';
import type { MeterCovers } from '../../../machines/limits/building-load.js';
import type { LimitRules } from '../../../machines/limits/limit-rules.js';
import type { Connection, Feeder, PhaseRotation } from '../../../machines/power/fuses.js';
import type { ConnectorId, ControllerUuid, LocationId, TenantUuid } from '../../../machines/values/ids.js';
import type { DcRating } from '../../../machines/values/units.js';
import type {
  ConnectorRecord,
  LocationRecord,
  OperatingStatus,
  OperatorRecord,
  SiteMeterRecord,
} from '../../ports/records.js';
import type { Columns, KeyedTable } from './json-rows.js';

/** JSON of each rule of a location's further limits; null without it. */
export interface RuleCells {
  readonly peak_shaving: string | null;
}

export interface LocationRow extends RuleCells {
  readonly location_id: LocationId;
  readonly name: string;
  readonly status: OperatingStatus;
  readonly permanent_limit_kw: number;
  readonly provisioned_permanent_limit_kw: number;
  readonly grid_limit_kw: number | null;
  /** JSON of a `Connection`. */
  readonly connection: string | null;
  /** JSON of a list of `Feeder`. */
  readonly feeders: string | null;
}

export interface ChargerRow {
  readonly controller_uuid: ControllerUuid;
  readonly location_id: LocationId;
  readonly mqtt_secret_hash: string | null;
  readonly feeder: string | null;
  /** Both are null, or neither. */
  readonly heartbeat_ms: number | null;
  readonly lease_ttl_ms: number | null;
}

export interface ConnectorRow {
  readonly controller_uuid: ControllerUuid;
  readonly connector_id: ConnectorId;
  readonly status: OperatingStatus;
  readonly phases: 1 | 3;
  readonly voltage_v: number;
  readonly max_current_a: number;
  readonly failsafe_a: number;
  readonly rotation: PhaseRotation | null;
  /** JSON of a `DcRating`; null for AC. */
  readonly direct_current: string | null;
  readonly never_pause: 0 | 1;
  readonly operator_may_pause: 0 | 1;
}

export const LOCATIONS = {
  name: 'locations',
  key: ['tenant_uuid', 'location_id'],
  columns: {
    tenant_uuid: 'text',
    location_id: 'text',
    name: 'text',
    status: 'text',
    permanent_limit_kw: 'double precision',
    provisioned_permanent_limit_kw: 'double precision',
    grid_limit_kw: 'double precision',
    connection: 'text',
    feeders: 'text',
    peak_shaving: 'text',
  },
} as const satisfies KeyedTable<Columns>;

export interface OperatorRow {
  readonly location_id: LocationId;
  readonly operator_uuid: string;
  readonly mqtt_secret_hash: string | null;
  readonly failsafe_kw: number;
  readonly failsafe_min_ms: number;
  readonly missing_after_ms: number;
}

export const OPERATORS = {
  name: 'operators',
  key: ['tenant_uuid', 'location_id'],
  columns: {
    tenant_uuid: 'text',
    location_id: 'text',
    operator_uuid: 'text',
    mqtt_secret_hash: 'text',
    failsafe_kw: 'double precision',
    failsafe_min_ms: 'bigint',
    missing_after_ms: 'bigint',
  },
} as const satisfies KeyedTable<Columns>;

export interface SiteMeterRow {
  readonly location_id: LocationId;
  readonly meter_uuid: string;
  readonly mqtt_secret_hash: string | null;
  readonly covers: MeterCovers;
  readonly max_building_kw: number;
  readonly reserve_least_kw: number;
  readonly reserve_most_kw: number;
  /** 0 or 1. */
  readonly pv_raises_headroom: number;
}

export const SITE_METERS = {
  name: 'site_meters',
  key: ['tenant_uuid', 'location_id'],
  columns: {
    tenant_uuid: 'text',
    location_id: 'text',
    meter_uuid: 'text',
    mqtt_secret_hash: 'text',
    covers: 'text',
    max_building_kw: 'double precision',
    reserve_least_kw: 'double precision',
    reserve_most_kw: 'double precision',
    pv_raises_headroom: 'integer',
  },
} as const satisfies KeyedTable<Columns>;

export const CHARGERS = {
  name: 'chargers',
  key: ['tenant_uuid', 'controller_uuid'],
  columns: {
    tenant_uuid: 'text',
    controller_uuid: 'text',
    location_id: 'text',
    mqtt_secret_hash: 'text',
    feeder: 'text',
    heartbeat_ms: 'integer',
    lease_ttl_ms: 'integer',
  },
} as const satisfies KeyedTable<Columns>;

export const CONNECTORS = {
  name: 'connectors',
  key: ['tenant_uuid', 'controller_uuid', 'connector_id'],
  columns: {
    tenant_uuid: 'text',
    controller_uuid: 'text',
    connector_id: 'text',
    status: 'text',
    phases: 'integer',
    voltage_v: 'double precision',
    max_current_a: 'double precision',
    failsafe_a: 'double precision',
    rotation: 'text',
    direct_current: 'text',
    never_pause: 'integer',
    operator_may_pause: 'integer',
  },
} as const satisfies KeyedTable<Columns>;

const LOCATION_COLUMNS = Object.keys(LOCATIONS.columns).filter(
  (name) => name !== 'tenant_uuid' && name !== 'provisioned_permanent_limit_kw',
);
const CONNECTOR_COLUMNS = Object.keys(CONNECTORS.columns).filter((name) => name !== 'tenant_uuid');

/** The locations of a tenant by id, each with its connectors by controller and connector id. */
export async function loadLocations(
  trx: Knex.Transaction,
  tenantUuid: TenantUuid,
): Promise<LocationRecord[]> {
  const locations: Omit<LocationRow, 'provisioned_permanent_limit_kw'>[] = await trx('locations')
    .where('tenant_uuid', tenantUuid)
    .select(...LOCATION_COLUMNS)
    .orderBy('location_id');
  const chargers: Omit<ChargerRow, 'mqtt_secret_hash'>[] = await trx('chargers')
    .where('tenant_uuid', tenantUuid)
    .select('controller_uuid', 'location_id', 'feeder', 'heartbeat_ms', 'lease_ttl_ms');
  const connectors: ConnectorRow[] = await trx('connectors')
    .where('tenant_uuid', tenantUuid)
    .select(...CONNECTOR_COLUMNS)
    .orderBy(['controller_uuid', 'connector_id']);
  const operators: OperatorRow[] = await trx('operators').where('tenant_uuid', tenantUuid);
  const operatorAt = new Map(operators.map((row) => [row.location_id, operatorOf(row)]));
  const siteMeters: SiteMeterRow[] = await trx('site_meters').where('tenant_uuid', tenantUuid);
  const siteMeterAt = new Map(siteMeters.map((row) => [row.location_id, siteMeterOf(row)]));
  const atLocation = new Map<LocationId, ConnectorRecord[]>(locations.map((row) => [row.location_id, []]));
  const byController = new Map(chargers.map((row) => [row.controller_uuid, row]));
  for (const row of connectors) {
    const charger = byController.get(row.controller_uuid);
    if (charger !== undefined) atLocation.get(charger.location_id)?.push(connectorOf(row, charger));
  }
  return locations.map((row) => ({
    locationId: row.location_id,
    name: row.name,
    status: row.status,
    permanentLimitKw: row.permanent_limit_kw,
    gridLimitKw: row.grid_limit_kw,
    operator: operatorAt.get(row.location_id) ?? null,
    siteMeter: siteMeterAt.get(row.location_id) ?? null,
    limitRules: limitRulesOf(row),
    connection: row.connection === null ? null : (JSON.parse(row.connection) as Connection),
    feeders: row.feeders === null ? [] : (JSON.parse(row.feeders) as Feeder[]),
    connectors: atLocation.get(row.location_id) ?? [],
  }));
}

export function ruleCellsOf({ peakShaving }: LimitRules): RuleCells {
  return { peak_shaving: cellOf(peakShaving) };
}

function limitRulesOf({ peak_shaving }: RuleCells): Required<LimitRules> {
  return { peakShaving: ruleIn(peak_shaving) };
}

function cellOf(rule: object | undefined): string | null {
  return rule === undefined ? null : JSON.stringify(rule);
}

/** The rule that `cellOf` wrote. */
function ruleIn<Rule>(cell: string | null): Rule | undefined {
  return cell === null ? undefined : (JSON.parse(cell) as Rule);
}

function operatorOf(row: OperatorRow): OperatorRecord {
  return {
    operatorUuid: row.operator_uuid,
    failsafeKw: row.failsafe_kw,
    failsafeMinMs: row.failsafe_min_ms,
    missingAfterMs: row.missing_after_ms,
  };
}

function siteMeterOf(row: SiteMeterRow): SiteMeterRecord {
  return {
    meterUuid: row.meter_uuid,
    covers: row.covers,
    maxBuildingKw: row.max_building_kw,
    reserveKw: [row.reserve_least_kw, row.reserve_most_kw],
    pvRaisesHeadroom: row.pv_raises_headroom === 1,
  };
}

function connectorOf(
  row: ConnectorRow,
  { feeder, heartbeat_ms: heartbeatMs, lease_ttl_ms: ttlMs }: Omit<ChargerRow, 'mqtt_secret_hash'>,
): ConnectorRecord {
  return {
    controllerUuid: row.controller_uuid,
    connectorId: row.connector_id,
    status: row.status,
    phases: row.phases,
    voltageV: row.voltage_v,
    maxCurrentA: row.max_current_a,
    failsafeA: row.failsafe_a,
    rotation: row.rotation,
    neverPause: row.never_pause === 1,
    operatorMayPause: row.operator_may_pause === 1,
    dc: row.direct_current === null ? null : (JSON.parse(row.direct_current) as DcRating),
    feeder,
    timing: heartbeatMs === null || ttlMs === null ? null : { heartbeatMs, ttlMs },
  };
}
