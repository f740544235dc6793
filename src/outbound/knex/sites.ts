// Locations with their chargers' connectors, as rows.
import type { Knex } from 'knex';
import type { LimitRules } from '../../../machines/limits/limit-rules.js';
import type { Departures } from '../../../machines/policy/default-needs.js';
import type { PolicyName } from '../../../machines/policy/policies.js';
import type { Connection, Feeder, PhaseRotation } from '../../../machines/power/fuses.js';
import {
  type ConnectorId,
  type ControllerUuid,
  connectorKey,
  type LocationId,
  type TenantUuid,
} from '../../../machines/values/ids.js';
import type { DcRating } from '../../../machines/values/units.js';
import { provisionReaders } from '../../features/home-assistant/rows.js';
import { loadOperators, provisionOperators } from '../../features/operator-limit/rows.js';
import { type PermanentLimitChange, setPermanentLimits } from '../../features/profiles/rows.js';
import { loadSiteMeters, provisionSiteMeters } from '../../features/site-meter/rows.js';
import {
  AdministrationError,
  type ProvisionedLocation,
  type ProvisionedTenant,
  type ProvisioningAction,
} from '../../ports/administration.js';
import type { ConnectorRecord, LocationRecord, OperatingStatus } from '../../ports/records.js';
import { actionOf, type Columns, type KeyedTable, putRows, type RowOf, readRows } from './json-rows.js';
import { lockTenants } from './transaction.js';

/** JSON of each rule of a location's further limits; null without it. */
interface RuleCells {
  readonly peak_shaving: string | null;
}

interface LocationRow extends RuleCells {
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
  /** null: equal shares. */
  readonly policy: PolicyName | null;
  /** JSON of `Departures`. */
  readonly departures: string | null;
  readonly time_zone: string | null;
  readonly home_assistant: 0 | 1 | null;
}

interface ChargerRow {
  readonly controller_uuid: ControllerUuid;
  readonly location_id: LocationId;
  readonly mqtt_secret_hash: string | null;
  readonly feeder: string | null;
  /** Both are null, or neither. */
  readonly heartbeat_ms: number | null;
  readonly lease_ttl_ms: number | null;
}

interface ConnectorRow {
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
  /** JSON of `Departures`; null for those of the location. */
  readonly departures: string | null;
}

/** Columns that a start reads. */
const OF_LOCATION = {
  location_id: 'text',
  name: 'text',
  status: 'text',
  permanent_limit_kw: 'double precision',
  grid_limit_kw: 'double precision',
  connection: 'text',
  feeders: 'text',
  peak_shaving: 'text',
  policy: 'text',
  departures: 'text',
  time_zone: 'text',
  home_assistant: 'integer',
} as const satisfies Columns;

const OF_CHARGER = {
  controller_uuid: 'text',
  location_id: 'text',
  feeder: 'text',
  heartbeat_ms: 'integer',
  lease_ttl_ms: 'integer',
} as const satisfies Columns;

const OF_CONNECTOR = {
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
  departures: 'text',
} as const satisfies Columns;

const LOCATIONS = {
  name: 'locations',
  key: ['tenant_uuid', 'location_id'],
  columns: { tenant_uuid: 'text', ...OF_LOCATION, provisioned_permanent_limit_kw: 'double precision' },
} as const satisfies KeyedTable<Columns>;

const CHARGERS = {
  name: 'chargers',
  key: ['tenant_uuid', 'controller_uuid'],
  columns: { tenant_uuid: 'text', ...OF_CHARGER, mqtt_secret_hash: 'text' },
} as const satisfies KeyedTable<Columns>;

const CONNECTORS = {
  name: 'connectors',
  key: ['tenant_uuid', 'controller_uuid', 'connector_id'],
  columns: { tenant_uuid: 'text', ...OF_CONNECTOR },
} as const satisfies KeyedTable<Columns>;

/** The locations of a tenant by id, each with its connectors by controller and connector id. */
export async function loadLocations(
  trx: Knex.Transaction,
  tenantUuid: TenantUuid,
): Promise<LocationRecord[]> {
  const selected = ({ name }: { readonly name: string }, columns: Columns) =>
    trx(name)
      .where('tenant_uuid', tenantUuid)
      .select(...Object.keys(columns));
  const locations = await readRows<Omit<LocationRow, 'provisioned_permanent_limit_kw'>>(
    trx,
    selected(LOCATIONS, OF_LOCATION).orderBy('location_id'),
    OF_LOCATION,
  );
  const chargers = await readRows<Omit<ChargerRow, 'mqtt_secret_hash'>>(
    trx,
    selected(CHARGERS, OF_CHARGER),
    OF_CHARGER,
  );
  const connectors = await readRows<ConnectorRow>(
    trx,
    selected(CONNECTORS, OF_CONNECTOR).orderBy(['controller_uuid', 'connector_id']),
    OF_CONNECTOR,
  );
  const operatorAt = await loadOperators(trx, tenantUuid);
  const siteMeterAt = await loadSiteMeters(trx, tenantUuid);
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
    policy: row.policy ?? 'equal',
    departures: departuresOf(row),
    timeZone: row.time_zone,
    connection: row.connection === null ? null : (JSON.parse(row.connection) as Connection),
    feeders: row.feeders === null ? [] : (JSON.parse(row.feeders) as Feeder[]),
    homeAssistant: row.home_assistant === null ? undefined : row.home_assistant === 1,
    connectors: atLocation.get(row.location_id) ?? [],
  }));
}

function ruleCellsOf({ peakShaving }: LimitRules): RuleCells {
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

function departuresOf({ departures }: Pick<LocationRow, 'departures'>): Departures | null {
  return ruleIn<Departures>(departures) ?? null;
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
    departures: departuresOf(row),
    dc: row.direct_current === null ? null : (JSON.parse(row.direct_current) as DcRating),
    feeder,
    timing: heartbeatMs === null || ttlMs === null ? null : { heartbeatMs, ttlMs },
  };
}

// Compares the sites of a provisioning file with the stored ones, and writes the differences.

type ProvisionedCharger = ProvisionedLocation['chargers'][number];

interface StoredSites {
  readonly locations: ReadonlyMap<string, LocationRow>;
  readonly chargers: ReadonlyMap<string, ChargerRow>;
  readonly connectors: ReadonlyMap<string, ConnectorRow>;
}

interface SitePlan {
  readonly locations: RowOf<typeof LOCATIONS.columns>[];
  readonly permanentLimits: PermanentLimitChange[];
  readonly chargers: RowOf<typeof CHARGERS.columns>[];
  readonly connectors: RowOf<typeof CONNECTORS.columns>[];
}

/** Writes the locations of `tenant` with their content. @returns the action for each, in the order of the file */
export async function provisionSites(
  trx: Knex.Transaction,
  tenant: ProvisionedTenant,
  atMs: number,
): Promise<ProvisioningAction[]> {
  const stored = await loadStored(trx, tenant.tenantUuid);
  const plan: SitePlan = { locations: [], permanentLimits: [], chargers: [], connectors: [] };
  const { tenantUuid } = tenant;
  const ofLocations = tenant.locations.map((location) =>
    planLocation(plan, stored, tenantUuid, location, atMs),
  );
  // The service's journal locks a tenant before its locations: the other order would be a deadlock.
  await lockTenants(trx, [tenantUuid]);
  await putRows(trx, LOCATIONS, plan.locations);
  await setPermanentLimits(trx, plan.permanentLimits);
  const operators = await provisionOperators(trx, tenant);
  const siteMeters = await provisionSiteMeters(trx, tenant);
  const readers = await provisionReaders(trx, tenant);
  const actions = tenant.locations.flatMap((location, i) => [
    ...ofLocations.slice(i, i + 1),
    ...[operators, siteMeters, readers].flatMap((ofParts) => ofParts.get(location.locationId) ?? []),
    ...location.chargers.flatMap((charger) => planCharger(plan, stored, tenantUuid, location, charger)),
  ]);
  await putRows(trx, CHARGERS, plan.chargers);
  await putRows(trx, CONNECTORS, plan.connectors);
  return actions;
}

async function loadStored(trx: Knex.Transaction, tenantUuid: TenantUuid): Promise<StoredSites> {
  const locations: LocationRow[] = await rowsOf(trx, LOCATIONS, tenantUuid);
  const chargers: ChargerRow[] = await rowsOf(trx, CHARGERS, tenantUuid);
  const connectors: ConnectorRow[] = await rowsOf(trx, CONNECTORS, tenantUuid);
  return {
    locations: new Map(locations.map((row) => [row.location_id, row])),
    chargers: new Map(chargers.map((row) => [row.controller_uuid, row])),
    connectors: new Map(
      connectors.map((row) => [
        connectorKey({ controllerUuid: row.controller_uuid, connectorId: row.connector_id }),
        row,
      ]),
    ),
  };
}

function rowsOf(
  trx: Knex.Transaction,
  table: { readonly name: string; readonly columns: Columns },
  tenantUuid: TenantUuid,
) {
  return trx(table.name)
    .where('tenant_uuid', tenantUuid)
    .select(...Object.keys(table.columns));
}

function planLocation(
  plan: SitePlan,
  stored: StoredSites,
  tenantUuid: TenantUuid,
  location: ProvisionedLocation,
  atMs: number,
): ProvisioningAction {
  const { locationId } = location;
  const before = stored.locations.get(locationId);
  // Three values count: of the last file, of this file, and of the API since. The API's stays if the file is unchanged.
  const isFileUnchanged = before?.provisioned_permanent_limit_kw === location.permanentLimitKw;
  const limitKw = isFileUnchanged ? before.permanent_limit_kw : location.permanentLimitKw;
  const row = {
    tenant_uuid: tenantUuid,
    location_id: locationId,
    name: location.name,
    status: location.status,
    permanent_limit_kw: limitKw,
    provisioned_permanent_limit_kw: location.permanentLimitKw,
    grid_limit_kw: location.gridLimitKw,
    ...fuseCells(location),
    ...ruleCellsOf(location.limitRules ?? {}),
    policy: policyCellOf(location),
    departures: cellOf(location.departures ?? undefined),
    time_zone: location.timeZone ?? null,
    home_assistant: homeAssistantCellOf(location, before),
  };
  const action = actionOf(before, row);
  if (action !== 'unchanged') plan.locations.push(row);
  if (before?.permanent_limit_kw !== limitKw) {
    plan.permanentLimits.push({ tenantUuid, locationId, limitKw, atMs });
  }
  return { action, kind: 'location', id: locationId };
}

/** Equal shares have no cell, as before there were policies. */
function policyCellOf({ policy = 'equal' }: ProvisionedLocation): PolicyName | null {
  return policy === 'equal' ? null : policy;
}

/** The cell remains after the end, so that the service clears the messages that it once retained. */
function homeAssistantCellOf(
  { homeAssistant }: ProvisionedLocation,
  before: LocationRow | undefined,
): LocationRow['home_assistant'] {
  if (homeAssistant === true) return 1;
  return before === undefined || before.home_assistant === null ? null : 0;
}

/** The JSON is the same each time, so that the same file changes nothing. */
function fuseCells({ connection = null, feeders = [] }: ProvisionedLocation) {
  return {
    connection: connection === null ? null : JSON.stringify(connection),
    feeders: feeders.length === 0 ? null : JSON.stringify(feeders),
  };
}

function planCharger(
  plan: SitePlan,
  stored: StoredSites,
  tenantUuid: TenantUuid,
  location: ProvisionedLocation,
  charger: ProvisionedCharger,
): ProvisioningAction[] {
  const { controllerUuid } = charger;
  const before = stored.chargers.get(controllerUuid);
  if (before !== undefined && before.location_id !== location.locationId) {
    throw new AdministrationError(
      `charger ${controllerUuid} belongs to location ${before.location_id} already, not to ${location.locationId}`,
    );
  }
  const row = {
    tenant_uuid: tenantUuid,
    controller_uuid: controllerUuid,
    location_id: location.locationId,
    mqtt_secret_hash: charger.mqttSecretHash ?? before?.mqtt_secret_hash ?? null,
    feeder: charger.feeder ?? null,
    heartbeat_ms: charger.timing?.heartbeatMs ?? null,
    lease_ttl_ms: charger.timing?.ttlMs ?? null,
  };
  const action = actionOf(before, row);
  if (action !== 'unchanged') plan.chargers.push(row);
  const ofConnectors = charger.connectors.map((connector) => {
    const connectorRow = {
      tenant_uuid: tenantUuid,
      controller_uuid: controllerUuid,
      connector_id: connector.connectorId,
      status: connector.status,
      phases: connector.phases,
      voltage_v: connector.voltageV,
      max_current_a: connector.maxCurrentA,
      failsafe_a: connector.failsafeA,
      rotation: connector.rotation ?? null,
      never_pause: connector.neverPause === true ? 1 : 0,
      operator_may_pause: connector.operatorMayPause === true ? 1 : 0,
      departures: cellOf(connector.departures ?? undefined),
      direct_current: connector.dc == null ? null : JSON.stringify(connector.dc),
    };
    const id = connectorKey({ controllerUuid, connectorId: connector.connectorId });
    const connectorAction = actionOf(stored.connectors.get(id), connectorRow);
    if (connectorAction !== 'unchanged') plan.connectors.push(connectorRow);
    return { action: connectorAction, kind: 'connector', id };
  });
  return [{ action, kind: 'charger', id: controllerUuid }, ...ofConnectors];
}
