// Imported energy of each location in its current billed window, one row
// for each location. A restart continues from it.
import type { Knex } from 'knex';
import type { LocationId, TenantUuid } from '../../../machines/values/ids.js';
import { type Columns, isStored, type KeyedTable, putRows } from '../../outbound/knex/json-rows.js';
import type { BilledWindowRecord } from '../../ports/records.js';
import type { ChangeOf } from '../../ports/store.js';

interface BilledWindowRow {
  readonly location_id: LocationId;
  readonly starts_at_ms: number;
  readonly used_ws: number;
  readonly counted_until_ms: number;
}

const BILLED_WINDOWS = {
  name: 'billed_windows',
  key: ['tenant_uuid', 'location_id'],
  columns: {
    tenant_uuid: 'text',
    location_id: 'text',
    starts_at_ms: 'bigint',
    used_ws: 'double precision',
    counted_until_ms: 'bigint',
  },
  onlyWhere: isStored('locations', ['tenant_uuid', 'location_id']),
} as const satisfies KeyedTable<Columns>;

/** Stores windows; the last of each location counts. Those of unknown locations are left out. */
export async function putBilledWindows(
  trx: Knex.Transaction,
  puts: readonly ChangeOf<'billedWindow.put'>[],
): Promise<void> {
  const newest = new Map(
    puts.map(({ tenantUuid, billedWindow }) => [
      `${tenantUuid}/${billedWindow.locationId}`,
      {
        tenant_uuid: tenantUuid,
        location_id: billedWindow.locationId,
        starts_at_ms: billedWindow.startsAtMs,
        used_ws: billedWindow.usedWs,
        counted_until_ms: billedWindow.countedUntilMs,
      },
    ]),
  );
  await putRows(trx, BILLED_WINDOWS, [...newest.values()]);
}

export async function loadBilledWindows(
  trx: Knex.Transaction,
  tenantUuid: TenantUuid,
): Promise<BilledWindowRecord[]> {
  const rows: BilledWindowRow[] = await trx('billed_windows')
    .where('tenant_uuid', tenantUuid)
    .orderBy('location_id');
  return rows.map((row) => ({
    locationId: row.location_id,
    startsAtMs: row.starts_at_ms,
    usedWs: row.used_ws,
    countedUntilMs: row.counted_until_ms,
  }));
}
