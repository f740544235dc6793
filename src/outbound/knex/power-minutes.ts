// What locations drew, minute by minute: written once a minute, read in steps, forgotten when old.
import type { Knex } from 'knex';
import type { LocationId, TenantUuid } from '../../../machines/values/ids.js';
import type { EpochMs, TimeWindow } from '../../../machines/values/time.js';
import type { PowerRecord, PowerStep } from '../../ports/records.js';
import { type Engine, engineOf } from './engine.js';
import { type Columns, isStored, type KeyedTable, putRows, type RowOf } from './json-rows.js';

/** Mean and highest current of each phase of the grid, whole tenths of an ampere: small numbers take little of a row. */
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

// Minutes without known fuses have none, and weigh nothing.
const CURRENTS = Object.keys(OF_PHASES)
  .map((name) => `${name.startsWith('mean') ? 'avg' : 'max'}(${name}) as ${name}`)
  .join(', ');

/**
 * The same of one feeder, out of the JSON that has what flowed through all of them in a minute: by name, three means and
 * three highest. A row for each feeder and minute would take three times as much, most of it for its key.
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

// Minutes without a site meter have none, and weigh nothing.
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
 * The minutes that begin inside `window`, folded into steps of `stepMs` from its start, oldest first: each minute of a
 * step weighs the same. Steps without one are left out. Where a `feeder` is named, the currents are those through it.
 */
export async function powerHistory(
  knex: Knex,
  tenantUuid: TenantUuid,
  locationId: LocationId,
  window: TimeWindow,
  stepMs: number,
  feeder?: string,
): Promise<PowerStep[]> {
  const engine = engineOf(knex);
  const currents = feeder === undefined ? CURRENTS : CURRENTS_OF_FEEDER[engine];
  const rows: StepRow[] = await knex(minutesOf(knex, engine, feeder))
    .where({ tenant_uuid: tenantUuid, location_id: locationId })
    .where('at_ms', '>=', window.startsAtMs)
    .where('at_ms', '<', window.endsAtMs)
    .select(knex.raw(`${STEP} as step`, [window.startsAtMs, stepMs]))
    .avg({ mean_w: 'mean_w' })
    .max({ max_w: 'max_w' })
    .min({ limit_w: 'limit_w' })
    .select(knex.raw(`${MEAN_LIMIT} as mean_limit_w, ${ESTIMATED} as estimated_w, ${currents}, ${BUILDING}`))
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

/** All minutes, beside what flowed through the feeder where one is named. */
function minutesOf(knex: Knex, engine: Engine, feeder: string | undefined): Knex.Raw {
  return feeder === undefined
    ? knex.raw('power_minutes')
    : knex.raw(`(select *, ${FEEDER[engine]} as of_feeder from power_minutes) as of_feeders`, [feeder]);
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

/** PostgreSQL's means of whole numbers come as text. */
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
