// Permanent limits: the one in force is stored with its location, and a history keeps all.
import type { Knex } from 'knex';
import type { LocationId, TenantUuid } from '../../../machines/values/ids.js';
import type { TimeWindow } from '../../../machines/values/time.js';
import type { PermanentLimitHistoryRecord } from '../../ports/records.js';
import type { Page } from '../../ports/store.js';
import { type Engine, engineOf, exactDouble, readThrough } from './engine.js';
import { type Cell, type Columns, jsonRows } from './json-rows.js';

export interface PermanentLimitChange {
  readonly tenantUuid: TenantUuid;
  readonly locationId: LocationId;
  readonly limitKw: number;
  readonly atMs: number;
}

const COLUMNS = {
  tenant_uuid: 'text',
  location_id: 'text',
  limit_kw: 'double precision',
  set_at_ms: 'bigint',
  newest: 'integer',
} as const satisfies Columns;
const NEWEST = Object.keys(COLUMNS).indexOf('newest');

const STATEMENTS = { sqlite: statements('sqlite'), postgres: statements('postgres') };

function statements(engine: Engine): { readonly record: string; readonly apply: string } {
  const given = `${jsonRows(engine, COLUMNS)} as given`;
  const counts = engine === 'sqlite';
  const last =
    '(select coalesce(max(change), 0) from permanent_limit_changes where tenant_uuid = given.tenant_uuid)';
  return {
    record: `insert into permanent_limit_changes
        (${counts ? 'change, ' : ''}tenant_uuid, location_id, limit_kw, set_at_ms)
      select ${counts ? `${last} + given.nth, ` : ''}given.tenant_uuid, given.location_id, given.limit_kw, given.set_at_ms
      from ${given} order by given.nth`,
    apply: `update locations set permanent_limit_kw = given.limit_kw from ${given}
      where given.newest = 1 and locations.tenant_uuid = given.tenant_uuid
        and locations.location_id = given.location_id`,
  };
}

/** Records the changes in order and puts the last of each location in force. Fails if a location is unknown. */
export async function setPermanentLimits(
  trx: Knex.Transaction,
  changes: readonly PermanentLimitChange[],
): Promise<void> {
  if (changes.length === 0) return;
  const { record, apply } = STATEMENTS[engineOf(trx)];
  const newest = new Map<string, Cell[]>();
  const rows = changes.map(({ tenantUuid, locationId, limitKw, atMs }) => {
    const location = `${tenantUuid}/${locationId}`;
    const before = newest.get(location);
    if (before !== undefined) before[NEWEST] = 0;
    const row = [tenantUuid, locationId, exactDouble(limitKw), atMs, 1];
    newest.set(location, row);
    return row;
  });
  const json = JSON.stringify(rows);
  await trx.raw(record, [json]);
  await trx.raw(apply, [json]);
}

/**
 * The permanent limits of a location inside `window`, the one in force at its start first; without a window all. In the
 * order in which they were set, empty for an unknown location.
 */
export async function permanentLimitHistory(
  knex: Knex,
  tenantUuid: TenantUuid,
  locationId: LocationId,
  window?: TimeWindow,
  page?: Page,
): Promise<PermanentLimitHistoryRecord[]> {
  const changes = () =>
    knex(readThrough(knex, 'permanent_limit_changes', 'permanent_limit_changes_by_location')).where({
      tenant_uuid: tenantUuid,
      location_id: locationId,
    });
  const asked = changes().select('limit_kw', 'set_at_ms').orderBy('change');
  if (window !== undefined) {
    const inForce = changes().where('set_at_ms', '<=', window.startsAtMs).max('change');
    asked
      .where('set_at_ms', '<', Math.max(window.endsAtMs, window.startsAtMs + 1))
      .where('change', '>=', knex.raw('coalesce((?), 0)', [inForce]));
  }
  if (page !== undefined) asked.offset(page.offset).limit(page.count);
  const rows: { limit_kw: number; set_at_ms: number }[] = await asked;
  return rows.map((row) => ({ limitKw: row.limit_kw, setAtMs: row.set_at_ms }));
}
