// Power of locations: written once a minute, read in steps, deleted when old.
import type { Knex } from 'knex';
import type { LocationId, TenantUuid } from '../../../machines/values/ids.js';
import type { EpochMs, TimeWindow } from '../../../machines/values/time.js';
import { type Engine, engineOf } from '../../outbound/knex/engine.js';
import {
  type Columns,
  isStored,
  type KeyedTable,
  putRows,
  type RowOf,
} from '../../outbound/knex/json-rows.js';
import type { PowerRecord, PowerStep } from '../../ports/records.js';
import type { ChangeOf } from '../../ports/store.js';

/**
 * Mean and highest current of each phase of the grid, in whole tenths of an
 * ampere: small integers take little space in a row.
 */
const OF_PHASES = {
  mean_l1_tenths_a: 'integer',
  mean_l2_tenths_a: 'integer',
  mean_l3_tenths_a: 'integer',
  max_l1_tenths_a: 'integer',
  max_l2_tenths_a: 'integer',
  max_l3_tenths_a: 'integer',
} as const;

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
    ...OF_PHASES,
    feeders: 'text',
    mean_building_w: 'double precision',
    max_building_w: 'double precision',
    mean_reserve_w: 'double precision',
  },
  onlyWhere: isStored('locations', ['tenant_uuid', 'location_id']),
} as const satisfies KeyedTable<Columns>;

// Limits the wait of writers, and stays far below the longest time of a statement.
const FORGOTTEN_AT_ONCE = 5000;

// The key finds each location's oldest rows. Without help both engines would read all rows. SQLite keeps the order of a
// cross join. PostgreSQL keeps that of a lateral join, and uses the places of rows (ctid).
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

// The driver of SQLite passes whole numbers as floating-point ones, which would not divide to a whole step.
const STEP = '(at_ms - cast(? as bigint)) / cast(? as bigint)';

// Minutes from before this column have none.
const MEAN_LIMIT = 'avg(coalesce(mean_limit_w, limit_w))';
// For the whole step, like its mean; null without an estimate in it.
const ESTIMATED = 'case when count(estimated_w) > 0 then avg(coalesce(estimated_w, 0)) end';

// Minutes without known fuses have no currents, and do not count.
const CURRENTS = Object.keys(OF_PHASES)
  .map((name) => `${name.startsWith('mean') ? 'avg' : 'max'}(${name}) as ${name}`)
  .join(', ');

/**
 * The same for one feeder. A JSON cell holds the currents of all feeders in a minute: by name, three means and three
 * maxima. A row for each feeder and minute would take three times as much space, most of it for its key.
 */
const FEEDER = {
  sqlite: '(select value from json_each(feeders) where key = ?)',
  postgres: '(feeders::json -> cast(? as text))',
};
const CURRENTS_OF_FEEDER = {
  sqlite: currentsOfFeeder((place) => `json_extract(of_feeder, '$[${place}]')`),
  postgres: currentsOfFeeder((place) => `(of_feeder ->> ${place})::integer`),
};

function currentsOfFeeder(cell: (place: number) => string): string {
  return Object.keys(OF_PHASES)
    .map((name, place) => `${name.startsWith('mean') ? 'avg' : 'max'}(${cell(place)}) as ${name}`)
    .join(', ');
}

type CurrentCells = { readonly [K in keyof typeof OF_PHASES]: number | string | null };

// Minutes without a site meter have none, and do not count.
const BUILDING =
  'avg(mean_building_w) as mean_building_w, max(max_building_w) as max_building_w, avg(mean_reserve_w) as mean_reserve_w';

interface BuildingCells {
  readonly mean_building_w: number | null;
  readonly max_building_w: number | null;
  readonly mean_reserve_w: number | null;
}

interface StepRow extends CurrentCells, BuildingCells {
  readonly step: number;
  readonly mean_w: number;
  readonly max_w: number;
  readonly limit_w: number;
  readonly mean_limit_w: number;
  readonly estimated_w: number | null;
}

/** Stores minutes; the last of each location and instant counts. Those of unknown locations are left out. */
export async function putPowerMinutes(
  trx: Knex.Transaction,
  puts: readonly Omit<ChangeOf<'power.put'>, 'kind'>[],
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
        ...cellsOf(minute.currents),
        feeders: feederCellOf(minute.feeders),
        mean_building_w: minute.building?.meanW ?? null,
        max_building_w: minute.building?.maxW ?? null,
        mean_reserve_w: minute.building?.meanReserveW ?? null,
      },
    ]),
  );
  await putRows(trx, POWER_MINUTES, [...newest.values()]);
}

/**
 * The minutes that begin inside `window`, folded into steps of `stepMs` from its start, oldest first. Each minute of a
 * step has the same weight. Steps without a minute are left out. With a `feeder`, the currents are those through it.
 */
export async function readPowerHistory(
  trx: Knex.Transaction,
  tenantUuid: TenantUuid,
  locationId: LocationId,
  window: TimeWindow,
  stepMs: number,
  feeder?: string,
): Promise<PowerStep[]> {
  const engine = engineOf(trx);
  const currents = feeder === undefined ? CURRENTS : CURRENTS_OF_FEEDER[engine];
  const rows: StepRow[] = await trx(minutesOf(trx, engine, feeder))
    .where({ tenant_uuid: tenantUuid, location_id: locationId })
    .where('at_ms', '>=', window.startsAtMs)
    .where('at_ms', '<', window.endsAtMs)
    .select(trx.raw(`${STEP} as step`, [window.startsAtMs, stepMs]))
    .avg({ mean_w: 'mean_w' })
    .max({ max_w: 'max_w' })
    .min({ limit_w: 'limit_w' })
    .select(trx.raw(`${MEAN_LIMIT} as mean_limit_w, ${ESTIMATED} as estimated_w, ${currents}, ${BUILDING}`))
    .groupByRaw('1')
    .orderByRaw('1');
  return rows.map((row) => ({
    atMs: window.startsAtMs + row.step * stepMs,
    meanW: row.mean_w,
    maxW: row.max_w,
    estimatedW: row.estimated_w,
    limitW: row.limit_w,
    meanLimitW: row.mean_limit_w,
    currents: currentsOf(row),
    building: buildingOf(row),
  }));
}

/** All minutes; with a feeder, joined by its currents. */
function minutesOf(trx: Knex, engine: Engine, feeder: string | undefined): Knex.Raw {
  return feeder === undefined
    ? trx.raw('power_minutes')
    : trx.raw(`(select *, ${FEEDER[engine]} as of_feeder from power_minutes) as of_feeders`, [feeder]);
}

function feederCellOf(feeders: PowerRecord['feeders']): string | null {
  if (feeders.length === 0) return null;
  return JSON.stringify(
    Object.fromEntries(
      feeders.map(({ name, meanTenthsA, maxTenthsA }) => [name, [...meanTenthsA, ...maxTenthsA]]),
    ),
  );
}

function cellsOf(currents: PowerRecord['currents']): RowOf<typeof OF_PHASES> {
  const [mean, max] = [currents?.meanTenthsA, currents?.maxTenthsA];
  return {
    mean_l1_tenths_a: mean?.[0] ?? null,
    mean_l2_tenths_a: mean?.[1] ?? null,
    mean_l3_tenths_a: mean?.[2] ?? null,
    max_l1_tenths_a: max?.[0] ?? null,
    max_l2_tenths_a: max?.[1] ?? null,
    max_l3_tenths_a: max?.[2] ?? null,
  };
}

/** PostgreSQL returns means of whole numbers as text. */
function currentsOf(row: CurrentCells): PowerRecord['currents'] {
  if (row.max_l1_tenths_a === null) return null;
  return {
    meanTenthsA: [Number(row.mean_l1_tenths_a), Number(row.mean_l2_tenths_a), Number(row.mean_l3_tenths_a)],
    maxTenthsA: [Number(row.max_l1_tenths_a), Number(row.max_l2_tenths_a), Number(row.max_l3_tenths_a)],
  };
}

function buildingOf({
  mean_building_w: meanW,
  max_building_w: maxW,
  mean_reserve_w: meanReserveW,
}: BuildingCells): PowerRecord['building'] {
  return meanW === null || maxW === null || meanReserveW === null ? null : { meanW, maxW, meanReserveW };
}

/**
 * Deletes some thousand of the minutes before `beforeMs`, of all tenants.
 * @returns true if none are left
 */
export async function forgetSomePower(trx: Knex.Transaction, beforeMs: EpochMs): Promise<boolean> {
  const statement = FORGET[engineOf(trx)];
  const answer: readonly unknown[] | { readonly rows: readonly unknown[] } = await trx.raw(statement, [
    beforeMs,
  ]);
  const rows = 'rows' in answer ? answer.rows : answer;
  return rows.length < FORGOTTEN_AT_ONCE;
}
