// Meters of locations.
import type { Knex } from 'knex';
import type { MeterCovers } from '../../../machines/limits/building-load.js';
import type { LocationId, TenantUuid } from '../../../machines/values/ids.js';
import { type Columns, type KeyedTable, provisionOfLocations } from '../../outbound/knex/json-rows.js';
import type { ProvisionedTenant, ProvisioningAction } from '../../ports/administration.js';
import type { SiteMeterRecord } from '../../ports/records.js';

interface SiteMeterRow {
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

const SITE_METERS = {
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

/** The meter of each location that has one. */
export async function loadSiteMeters(
  trx: Knex.Transaction,
  tenantUuid: TenantUuid,
): Promise<ReadonlyMap<LocationId, SiteMeterRecord>> {
  const rows: SiteMeterRow[] = await trx('site_meters').where('tenant_uuid', tenantUuid);
  return new Map(rows.map((row) => [row.location_id, siteMeterOf(row)]));
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

/** The file decides: a meter that it no longer names is removed. */
export function provisionSiteMeters(
  trx: Knex.Transaction,
  tenant: ProvisionedTenant,
): Promise<ReadonlyMap<LocationId, ProvisioningAction>> {
  return provisionOfLocations(trx, SITE_METERS, {
    kind: 'siteMeter',
    idColumn: 'meter_uuid',
    tenant,
    rowOf: ({ locationId, siteMeter }, storedHash) =>
      siteMeter == null
        ? null
        : {
            tenant_uuid: tenant.tenantUuid,
            location_id: locationId,
            meter_uuid: siteMeter.meterUuid,
            mqtt_secret_hash: siteMeter.mqttSecretHash ?? storedHash,
            covers: siteMeter.covers,
            max_building_kw: siteMeter.maxBuildingKw,
            reserve_least_kw: siteMeter.reserveKw[0],
            reserve_most_kw: siteMeter.reserveKw[1],
            pv_raises_headroom: siteMeter.pvRaisesHeadroom ? 1 : 0,
          },
  });
}
