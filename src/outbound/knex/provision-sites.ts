// Compares the locations, chargers and connectors of a provisioning file
// with the stored ones, and writes the differences.
import type { Knex } from 'knex';
import { connectorKey, type LocationId, type TenantUuid } from '../../../machines/values/ids.js';
import { type PermanentLimitChange, setPermanentLimits } from '../../features/profiles/rows.js';
import {
  AdministrationError,
  type ProvisionedTenant,
  type ProvisioningAction,
} from '../../ports/administration.js';
import { actionOf, type Columns, putRows, type RowOf } from './json-rows.js';
import {
  CHARGERS,
  type ChargerRow,
  CONNECTORS,
  type ConnectorRow,
  LOCATIONS,
  type LocationRow,
  OPERATORS,
  type OperatorRow,
  ruleCellsOf,
  SITE_METERS,
  type SiteMeterRow,
} from './sites.js';

type ProvisionedLocation = ProvisionedTenant['locations'][number];
type ProvisionedCharger = ProvisionedLocation['chargers'][number];

interface StoredSites {
  readonly locations: ReadonlyMap<string, LocationRow>;
  readonly operators: ReadonlyMap<string, OperatorRow>;
  readonly siteMeters: ReadonlyMap<string, SiteMeterRow>;
  readonly chargers: ReadonlyMap<string, ChargerRow>;
  readonly connectors: ReadonlyMap<string, ConnectorRow>;
}

interface SitePlan {
  readonly actions: ProvisioningAction[];
  readonly locations: RowOf<typeof LOCATIONS.columns>[];
  readonly permanentLimits: PermanentLimitChange[];
  readonly operators: RowOf<typeof OPERATORS.columns>[];
  /** Locations whose operator the file no longer names. */
  readonly withoutOperator: LocationId[];
  readonly siteMeters: RowOf<typeof SITE_METERS.columns>[];
  readonly withoutSiteMeter: LocationId[];
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
  const plan: SitePlan = {
    actions: [],
    locations: [],
    permanentLimits: [],
    operators: [],
    withoutOperator: [],
    siteMeters: [],
    withoutSiteMeter: [],
    chargers: [],
    connectors: [],
  };
  for (const location of tenant.locations) {
    planLocation(plan, stored, tenant.tenantUuid, location, atMs);
    planOperator(plan, stored, tenant.tenantUuid, location);
    planSiteMeter(plan, stored, tenant.tenantUuid, location);
    for (const charger of location.chargers) planCharger(plan, stored, tenant.tenantUuid, location, charger);
  }
  await putRows(trx, LOCATIONS, plan.locations);
  await setPermanentLimits(trx, plan.permanentLimits);
  await dropFrom(trx, 'operators', tenant.tenantUuid, plan.withoutOperator);
  await putRows(trx, OPERATORS, plan.operators);
  await dropFrom(trx, 'site_meters', tenant.tenantUuid, plan.withoutSiteMeter);
  await putRows(trx, SITE_METERS, plan.siteMeters);
  await putRows(trx, CHARGERS, plan.chargers);
  await putRows(trx, CONNECTORS, plan.connectors);
  return plan.actions;
}

async function dropFrom(
  trx: Knex.Transaction,
  table: 'operators' | 'site_meters',
  tenantUuid: TenantUuid,
  locationIds: readonly LocationId[],
): Promise<void> {
  await trx(table).where('tenant_uuid', tenantUuid).whereIn('location_id', locationIds).delete();
}

async function loadStored(trx: Knex.Transaction, tenantUuid: TenantUuid): Promise<StoredSites> {
  const locations: LocationRow[] = await rowsOf(trx, LOCATIONS, tenantUuid);
  const operators: OperatorRow[] = await rowsOf(trx, OPERATORS, tenantUuid);
  const siteMeters: SiteMeterRow[] = await rowsOf(trx, SITE_METERS, tenantUuid);
  const chargers: ChargerRow[] = await rowsOf(trx, CHARGERS, tenantUuid);
  const connectors: ConnectorRow[] = await rowsOf(trx, CONNECTORS, tenantUuid);
  return {
    locations: new Map(locations.map((row) => [row.location_id, row])),
    operators: new Map(operators.map((row) => [row.location_id, row])),
    siteMeters: new Map(siteMeters.map((row) => [row.location_id, row])),
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
): void {
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
  };
  const action = actionOf(before, row);
  plan.actions.push({ action, kind: 'location', id: locationId });
  if (action !== 'unchanged') plan.locations.push(row);
  if (before?.permanent_limit_kw !== limitKw) {
    plan.permanentLimits.push({ tenantUuid, locationId, limitKw, atMs });
  }
}

/** The file decides: an operator that it no longer names loses its right to limit the location. */
function planOperator(
  plan: SitePlan,
  stored: StoredSites,
  tenantUuid: TenantUuid,
  { locationId, operator }: ProvisionedLocation,
): void {
  const before = stored.operators.get(locationId);
  if (operator === null) {
    if (before === undefined) return;
    plan.withoutOperator.push(locationId);
    plan.actions.push({ action: 'removed', kind: 'operator', id: before.operator_uuid });
    return;
  }
  const row = {
    tenant_uuid: tenantUuid,
    location_id: locationId,
    operator_uuid: operator.operatorUuid,
    mqtt_secret_hash: operator.mqttSecretHash ?? before?.mqtt_secret_hash ?? null,
    failsafe_kw: operator.failsafeKw,
    failsafe_min_ms: operator.failsafeMinMs,
    missing_after_ms: operator.missingAfterMs,
  };
  const action = actionOf(before, row);
  plan.actions.push({ action, kind: 'operator', id: operator.operatorUuid });
  if (action !== 'unchanged') plan.operators.push(row);
}

/** As for the operator. */
function planSiteMeter(
  plan: SitePlan,
  stored: StoredSites,
  tenantUuid: TenantUuid,
  { locationId, siteMeter = null }: ProvisionedLocation,
): void {
  const before = stored.siteMeters.get(locationId);
  if (siteMeter === null) {
    if (before === undefined) return;
    plan.withoutSiteMeter.push(locationId);
    plan.actions.push({ action: 'removed', kind: 'siteMeter', id: before.meter_uuid });
    return;
  }
  const [reserveLeastKw, reserveMostKw] = siteMeter.reserveKw;
  const row = {
    tenant_uuid: tenantUuid,
    location_id: locationId,
    meter_uuid: siteMeter.meterUuid,
    mqtt_secret_hash: siteMeter.mqttSecretHash ?? before?.mqtt_secret_hash ?? null,
    covers: siteMeter.covers,
    max_building_kw: siteMeter.maxBuildingKw,
    reserve_least_kw: reserveLeastKw,
    reserve_most_kw: reserveMostKw,
    pv_raises_headroom: siteMeter.pvRaisesHeadroom ? 1 : 0,
  };
  const action = actionOf(before, row);
  plan.actions.push({ action, kind: 'siteMeter', id: siteMeter.meterUuid });
  if (action !== 'unchanged') plan.siteMeters.push(row);
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
): void {
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
  plan.actions.push({ action, kind: 'charger', id: controllerUuid });
  if (action !== 'unchanged') plan.chargers.push(row);
  for (const connector of charger.connectors) {
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
      direct_current: connector.dc == null ? null : JSON.stringify(connector.dc),
    };
    const id = connectorKey({ controllerUuid, connectorId: connector.connectorId });
    const connectorAction = actionOf(stored.connectors.get(id), connectorRow);
    plan.actions.push({ action: connectorAction, kind: 'connector', id });
    if (connectorAction !== 'unchanged') plan.connectors.push(connectorRow);
  }
}
