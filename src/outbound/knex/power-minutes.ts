// What locations drew, minute by minute: written once a minute, read in steps, forgotten when old.
import type { Knex } from 'knex';
import type { LocationId, TenantUuid } from '../../../machines/values/ids.js';
import type { EpochMs, TimeWindow } from '../../../machines/values/time.js';
import type { PowerRecord } from '../../ports/records.js';
import { engineOf } from './engine.js';
import { type Columns, isStored, type KeyedTable, putRows } from './json-rows.js';

const POWER_MINUTES = {
  name: 'power_minutes',
  key: ['tenant_uuid', 'location_id', 'at_ms'],
  columns: {
    tenant_uuid: 'text',
    location_id: 'text',
    at_ms: 'bigint',
    mean_w: 'double precision',
    max_w: 'double precision',
    limit_w: 'double precision',
    mean_limit_w: 'double precision',
    estimated_w: 'double precision',
  },
  onlyWhere: isStored('locations', ['tenant_uuid', 'location_id']),
} as const satisfies KeyedTable<Columns>;

// Bounds how long writers wait, and stays far below the longest a statement may take.
const FORGOTTEN_AT_ONCE = 5000;

// Each location's oldest rows are found by the key. Without help both engines would read all rows for this: SQLite keeps
// to the order of a cross join, PostgreSQL to a lateral one and to the places of rows.
const FORGET = {
  sqlite: `delete from power_minutes where (tenant_uuid, location_id, at_ms) in (
      select old.tenant_uuid, old.location_id, old.at_ms from locations cross join power_minutes as old
      where old.tenant_uuid = locations.tenant_uuid and old.location_id = locations.location_id and old.at_ms < ?
      limit ${FORGOTTEN_AT_ONCE}
    ) returning 1`,
  postgres: `delete from power_minutes where ctid = any (array(
      select old.place from locations cross join lateral (
        select ctid as place from power_minutes
        where tenant_uuid = locations.tenant_uuid and location_id = locations.location_id and at_ms < ?
        limit ${FORGOTTEN_AT_ONCE}
      ) as old limit ${FORGOTTEN_AT_ONCE}
    )) returning 1`,
};

// The driver of SQLite hands whole numbers over as floating-point ones, which would not divide to a whole step.
const STEP = '(at_ms - cast(? as bigint)) / cast(? as bigint)';

// Minutes stored before these columns were have neither.
const MEAN_LIMIT = 'avg(coalesce(mean_limit_w, limit_w))';
// Of the whole step, as its mean is; null where nothing in it was estimated.
const ESTIMATED = 'case when count(estimated_w) > 0 then avg(coalesce(estimated_w, 0)) end';

interface StepRow {
  readonly step: number;
  readonly mean_w: number;
  readonly max_w: number;
  readonly limit_w: number;
  readonly mean_limit_w: number;
  readonly estimated_w: number | null;
}

/** Stores minutes, the last of each location and instant counts; those of unknown locations are left out. */
export async function putPowerMinutes(
  trx: Knex.Transaction,
  puts: readonly {
    readonly tenantUuid: TenantUuid;
    readonly locationId: LocationId;
    readonly minute: PowerRecord;
  }[],
): Promise<void> {
  const newest = new Map(
    puts.map(({ tenantUuid, locationId, minute }) => [
      `${tenantUuid}/${locationId}/${minute.atMs}`,
      {
        tenant_uuid: tenantUuid,
        location_id: locationId,
        at_ms: minute.atMs,
        mean_w: minute.meanW,
        max_w: minute.maxW,
        limit_w: minute.limitW,
        mean_limit_w: minute.meanLimitW,
        estimated_w: minute.estimatedW,
      },
    ]),
  );
  await putRows(trx, POWER_MINUTES, [...newest.values()]);
}

/**
 * The minutes that begin inside `window`, folded into steps of `stepMs` from its start, oldest first: each minute of a
 * step weighs the same. Steps without one are left out.
 */
export async function powerHistory(
  knex: Knex,
  tenantUuid: TenantUuid,
  locationId: LocationId,
  window: TimeWindow,
  stepMs: number,
): Promise<PowerRecord[]> {
  const rows: StepRow[] = await knex('power_minutes')
    .where({ tenant_uuid: tenantUuid, location_id: locationId })
    .where('at_ms', '>=', window.startsAtMs)
    .where('at_ms', '<', window.endsAtMs)
    .select(knex.raw(`${STEP} as step`, [window.startsAtMs, stepMs]))
    .avg({ mean_w: 'mean_w' })
    .max({ max_w: 'max_w' })
    .min({ limit_w: 'limit_w' })
    .select(knex.raw(`${MEAN_LIMIT} as mean_limit_w, ${ESTIMATED} as estimated_w`))
    .groupByRaw('1')
    .orderByRaw('1');
  return rows.map((row) => ({
    atMs: window.startsAtMs + row.step * stepMs,
    meanW: row.mean_w,
    maxW: row.max_w,
    estimatedW: row.estimated_w,
    limitW: row.limit_w,
    meanLimitW: row.mean_limit_w,
  }));
}

/**
 * Deletes some thousand of the minutes before `beforeMs`, of all tenants.
 * @returns whether those were all.
 */
export async function forgetSomePower(trx: Knex.Transaction, beforeMs: EpochMs): Promise<boolean> {
  const statement = FORGET[engineOf(trx)];
  const answer: readonly unknown[] | { readonly rows: readonly unknown[] } = await trx.raw(statement, [
    beforeMs,
  ]);
  const rows = 'rows' in answer ? answer.rows : answer;
  return rows.length < FORGOTTEN_AT_ONCE;
}
