// Energy of connectors: a row per connector and day, with its quarter-hours as JSON. Old days are deleted.
import type { Knex } from 'knex';
import { QUARTER_MS, type QuarterEnergy } from '../../../machines/power/energy-count.js';
import type {
  ClusterId,
  ConnectorId,
  ControllerUuid,
  LocationId,
  TenantUuid,
} from '../../../machines/values/ids.js';
import type { EpochMs, TimeWindow } from '../../../machines/values/time.js';
import { type Engine, engineOf } from '../../outbound/knex/engine.js';
import { type Columns, isStored, jsonRows } from '../../outbound/knex/json-rows.js';
import type { ChangeOf } from '../../ports/store.js';
import { toDate } from '../../wire/instants.js';
import type { Group } from './contract.js';

const COLUMNS = {
  tenant_uuid: 'text',
  day: 'text',
  location_id: 'text',
  controller_uuid: 'text',
  connector_id: 'text',
  starts_at_ms: 'bigint',
  wh: 'double precision',
  integrated_wh: 'double precision',
  quarters: 'text',
  integrated_quarters: 'text',
} as const satisfies Columns;

const KEY = ['tenant_uuid', 'day', 'location_id', 'controller_uuid', 'connector_id', 'starts_at_ms'];
const CONNECTOR = ['tenant_uuid', 'controller_uuid', 'connector_id'] as const;

/** JSON of quarter-hours with those of another replaced or added, and the sum of one. */
const JSON_OF: Readonly<Record<Engine, { merged(name: string): string; sum(merged: string): string }>> = {
  sqlite: {
    merged: (name) => `json_patch(energy_days.${name}, excluded.${name})`,
    sum: (merged) => `(select coalesce(sum(value), 0) from json_each(${merged}))`,
  },
  postgres: {
    merged: (name) => `(energy_days.${name}::jsonb || excluded.${name}::jsonb)`,
    sum: (merged) => `(select coalesce(sum(value::double precision), 0) from jsonb_each_text(${merged}))`,
  },
};

/** Stores quarter-hours; the last of each counts. Those of unknown connectors are left out. */
export async function putEnergy(
  trx: Knex.Transaction,
  puts: readonly ChangeOf<'energy.put'>[],
): Promise<void> {
  const engine = engineOf(trx);
  const names = Object.keys(COLUMNS);
  const { merged, sum } = JSON_OF[engine];
  const asText = engine === 'sqlite' ? '' : '::text';
  await trx.raw(
    `insert into energy_days (${names.join(', ')})
     select ${names.join(', ')} from ${jsonRows(engine, COLUMNS)} as given where ${isStored('connectors', CONNECTOR)}
     on conflict (${KEY.join(', ')}) do update set
       quarters = ${merged('quarters')}${asText}, wh = ${sum(merged('quarters'))},
       integrated_quarters = ${merged('integrated_quarters')}${asText},
       integrated_wh = ${sum(merged('integrated_quarters'))}`,
    [JSON.stringify(rowsOf(puts))],
  );
}

/** One row for each connector and day, because a statement updates a row once. */
function rowsOf(puts: readonly ChangeOf<'energy.put'>[]): readonly (readonly (string | number)[])[] {
  const days = new Map<
    string,
    { readonly put: ChangeOf<'energy.put'>; readonly quarters: QuarterEnergy[] }
  >();
  for (const put of puts) {
    const { day, locationId, controllerUuid, connectorId, startsAtMs, quarters } = put.energy;
    const key = JSON.stringify([put.tenantUuid, day, locationId, controllerUuid, connectorId, startsAtMs]);
    const of = days.get(key) ?? { put, quarters: [] };
    days.set(key, of);
    of.quarters.push(...quarters);
  }
  return [...days.values()].map(({ put: { tenantUuid, energy }, quarters }) => {
    const of = new Map(quarters.map((each) => [(each.startsAtMs - energy.startsAtMs) / QUARTER_MS, each]));
    const wh = Object.fromEntries([...of].map(([place, quarter]) => [place, quarter.wh]));
    // The integrated part of a quarter-hour never falls, so a zero replaces nothing.
    const parts = [...of].filter(([, { integratedWh }]) => integratedWh > 0);
    const integrated = Object.fromEntries(parts.map(([place, quarter]) => [place, quarter.integratedWh]));
    return [
      tenantUuid,
      energy.day,
      energy.locationId,
      energy.controllerUuid,
      energy.connectorId,
      energy.startsAtMs,
      sumOf(wh),
      sumOf(integrated),
      JSON.stringify(wh),
      JSON.stringify(integrated),
    ];
  });
}

function sumOf(byPlace: Readonly<Record<string, number>>): number {
  return Object.values(byPlace).reduce((sum, wh) => sum + wh, 0);
}

/** Energy of one group in one period. */
export interface EnergyOfGroup {
  /** The day, the month or the begin of the quarter-hour. */
  readonly period: string | EpochMs;
  readonly locationId: LocationId | null;
  readonly controllerUuid: ControllerUuid | null;
  readonly connectorId: ConnectorId | null;
  readonly clusterId: ClusterId | null;
  readonly wh: number;
  readonly integratedWh: number;
}

export interface EnergyFilter {
  readonly group: Group;
  readonly locationId: LocationId | undefined;
  /** A connector of that location. */
  readonly connector:
    | { readonly controllerUuid: ControllerUuid; readonly connectorId: ConnectorId }
    | undefined;
  /** The locations of each cluster, for groups by cluster. */
  readonly members: readonly (readonly [ClusterId, LocationId])[];
  readonly count: number;
}

interface GroupIds {
  readonly location_id?: LocationId;
  readonly controller_uuid?: ControllerUuid;
  readonly connector_id?: ConnectorId;
  readonly cluster_id?: ClusterId;
}

const GROUP_COLUMNS: Readonly<Record<Group, readonly (keyof GroupIds)[]>> = {
  connector: ['location_id', 'controller_uuid', 'connector_id'],
  location: ['location_id'],
  cluster: ['cluster_id'],
  tenant: [],
};

interface DayRow extends GroupIds {
  readonly period: string;
  readonly wh: number;
  readonly integrated_wh: number;
}

/** Energy of the days from `fromDay` until before `toDay`, or of their months, in order. */
export async function readEnergyOfDays(
  trx: Knex.Transaction,
  tenantUuid: TenantUuid,
  resolution: 'day' | 'month',
  { fromDay, toDay }: { readonly fromDay: string; readonly toDay: string },
  filter: EnergyFilter,
): Promise<EnergyOfGroup[]> {
  const columns = GROUP_COLUMNS[filter.group];
  const by = ['period', ...columns].map((_, i) => i + 1).join(', ');
  const rows: DayRow[] = await daysOf(trx, tenantUuid, fromDay, toDay, filter)
    .select(trx.raw(`${resolution === 'day' ? 'day' : 'substr(day, 1, 7)'} as period`), ...columns)
    .select(trx.raw('sum(wh) as wh, sum(integrated_wh) as integrated_wh'))
    .groupByRaw(by)
    .orderByRaw(by)
    .limit(filter.count);
  return rows.map((row) => ({
    period: row.period,
    ...groupOf(row),
    wh: row.wh,
    integratedWh: row.integrated_wh,
  }));
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const LONGEST_DAY_MS = 25 * HOUR_MS;
const PLACES = LONGEST_DAY_MS / QUARTER_MS;
/** Connectors whose days are summed in one turn of the event loop. */
const SUMMED_AT_ONCE = 1_000;

type Quarters = 'quarters' | 'integrated_quarters';

/** The days of a group as one JSON array of begin and quarter-hours. Most days have no integrated part. */
const JOINED: Readonly<Record<Engine, (name: Quarters) => string>> = {
  sqlite: (name) => `'[' || coalesce(group_concat(${dayText(name)}), '') || ']' as ${name}`,
  postgres: (name) => `'[' || coalesce(string_agg(${dayText(name)}, ','), '') || ']' as ${name}`,
};

function dayText(name: Quarters): string {
  return `case when ${name} <> '{}' then '[' || starts_at_ms || ',' || ${name} || ']' end`;
}

type JoinedRow = GroupIds & Readonly<Record<Quarters, string>> & { readonly days: number | string };

/** Energy of a day by the place of the quarter-hour in it. */
type DayJson = readonly [startsAtMs: EpochMs, byPlace: Readonly<Record<number, number>>];

/**
 * Energy of the quarter-hours that begin inside `window`, in order. The engine joins rows in the order of the key, and
 * the sums are made here: for them SQLite would sort all quarter-hours of all connectors.
 */
export async function readEnergyOfQuarters(
  trx: Knex.Transaction,
  tenantUuid: TenantUuid,
  window: TimeWindow,
  filter: EnergyFilter,
): Promise<EnergyOfGroup[]> {
  const joined = JOINED[engineOf(trx)];
  // Zones are at most 12 hours behind UTC and 14 ahead.
  const fromDay = toDate(window.startsAtMs - LONGEST_DAY_MS - 12 * HOUR_MS);
  const toDay = toDate(window.endsAtMs + 14 * HOUR_MS + DAY_MS);
  const columns = GROUP_COLUMNS[filter.group];
  // By location at least, so that the text of one row stays short.
  const by = [...new Set(['day', 'location_id', ...columns])].join(', ');
  const rows: JoinedRow[] = await daysOf(trx, tenantUuid, fromDay, toDay, filter)
    .where('starts_at_ms', '>', window.startsAtMs - LONGEST_DAY_MS)
    .where('starts_at_ms', '<', window.endsAtMs)
    // Of a day before, only a 25th hour is inside: places 96 to 99.
    .where((day) =>
      day.where('starts_at_ms', '>', window.startsAtMs - DAY_MS).orWhere('quarters', 'like', '%"9_":%'),
    )
    .select(...columns)
    .select(trx.raw(`count(*) as days, ${joined('quarters')}, ${joined('integrated_quarters')}`))
    .groupByRaw(by)
    .orderByRaw(by);
  return inOrder(await sumsOf(rows, columns, window), window, filter.count);
}

interface Sums {
  readonly wh: number[];
  readonly integratedWh: number[];
}

/** Sums of one group by the begin of the day and the place in it. */
interface SumsOfGroup {
  readonly row: GroupIds;
  readonly byDay: Map<EpochMs, Sums>;
}

async function sumsOf(
  rows: readonly JoinedRow[],
  columns: readonly (keyof GroupIds)[],
  window: TimeWindow,
): Promise<readonly SumsOfGroup[]> {
  const groups = new Map<string, SumsOfGroup>();
  let summed = 0;
  for (const row of rows) {
    summed += Number(row.days);
    if (summed > SUMMED_AT_ONCE) {
      summed = 0;
      await new Promise((resolve) => setImmediate(resolve));
    }
    const key = JSON.stringify(columns.map((name) => row[name]));
    const { byDay }: SumsOfGroup = groups.get(key) ?? { row, byDay: new Map() };
    groups.set(key, { row, byDay });
    const sumsAt = (atMs: EpochMs) => byDay.get(atMs) ?? { wh: noSums(), integratedWh: noSums() };
    for (const day of daysIn(row.quarters)) {
      const sums = sumsAt(day[0]);
      byDay.set(day[0], sums);
      addDay(sums.wh, day, window);
    }
    for (const day of daysIn(row.integrated_quarters)) addDay(sumsAt(day[0]).integratedWh, day, window);
  }
  return [...groups.values()];
}

function daysIn(text: string): readonly DayJson[] {
  return JSON.parse(text);
}

function noSums(): number[] {
  return new Array<number>(PLACES).fill(0);
}

/** Asks for each place: for an object with such names, this takes half the time of its entries. */
function addDay(sums: number[], [atMs, byPlace]: DayJson, { startsAtMs, endsAtMs }: TimeWindow): void {
  const end = Math.min(PLACES, Math.ceil((endsAtMs - atMs) / QUARTER_MS));
  for (let place = Math.max(0, Math.ceil((startsAtMs - atMs) / QUARTER_MS)); place < end; place++) {
    const wh = byPlace[place];
    if (wh !== undefined) sums[place] = (sums[place] ?? 0) + wh;
  }
}

/** The first `count` sums, by period and then in the order of the ids. */
function inOrder(
  groups: readonly SumsOfGroup[],
  { startsAtMs, endsAtMs }: TimeWindow,
  count: number,
): EnergyOfGroup[] {
  const daysOfPeriod = new Map<EpochMs, EpochMs[]>();
  for (const atMs of new Set(groups.flatMap(({ byDay }) => [...byDay.keys()])))
    for (let place = 0; place < PLACES; place++) {
      const period = atMs + place * QUARTER_MS;
      if (period >= startsAtMs && period < endsAtMs)
        daysOfPeriod.set(period, [...(daysOfPeriod.get(period) ?? []), atMs]);
    }
  const ordered: EnergyOfGroup[] = [];
  for (const [period, days] of [...daysOfPeriod].sort(([a], [b]) => a - b)) {
    if (ordered.length >= count) break;
    for (const { row, byDay } of groups) {
      let [wh, integratedWh] = [0, 0];
      // Days of several zones may share a quarter-hour.
      for (const atMs of days) {
        const place = (period - atMs) / QUARTER_MS;
        wh += byDay.get(atMs)?.wh[place] ?? 0;
        integratedWh += byDay.get(atMs)?.integratedWh[place] ?? 0;
      }
      if (wh > 0) ordered.push({ period, ...groupOf(row), wh, integratedWh });
    }
  }
  return ordered.slice(0, count);
}

/** Rows of these days; by cluster, joined with the clusters of their location. */
function daysOf(
  trx: Knex.Transaction,
  tenantUuid: TenantUuid,
  fromDay: string,
  toDay: string,
  { group, locationId, connector, members }: EnergyFilter,
): Knex.QueryBuilder {
  const days = trx('energy_days')
    .where({ tenant_uuid: tenantUuid })
    .where('day', '>=', fromDay)
    .where('day', '<', toDay)
    .where({
      ...(locationId !== undefined && { location_id: locationId }),
      ...(connector && { controller_uuid: connector.controllerUuid, connector_id: connector.connectorId }),
    });
  if (group !== 'cluster') return days;
  const ofMembers = jsonRows(engineOf(trx), { cluster_id: 'text', member_id: 'text' });
  return days.joinRaw(`join ${ofMembers} as members on members.member_id = energy_days.location_id`, [
    JSON.stringify(members),
  ]);
}

function groupOf(
  row: GroupIds,
): Pick<EnergyOfGroup, 'locationId' | 'controllerUuid' | 'connectorId' | 'clusterId'> {
  return {
    locationId: row.location_id ?? null,
    controllerUuid: row.controller_uuid ?? null,
    connectorId: row.connector_id ?? null,
    clusterId: row.cluster_id ?? null,
  };
}

/** Deletes the oldest day before `day` of each tenant. @returns true if none are left */
export async function forgetSomeEnergy(trx: Knex.Transaction, day: string): Promise<boolean> {
  const tenants: { tenant_uuid: TenantUuid }[] = await trx('tenants').select('tenant_uuid');
  let isDone = true;
  for (const ofTenant of tenants) {
    const [oldest]: { day: string | null }[] = await trx('energy_days').where(ofTenant).min({ day: 'day' });
    if (oldest?.day == null || oldest.day >= day) continue;
    isDone = false;
    await trx('energy_days')
      .where({ ...ofTenant, day: oldest.day })
      .delete();
  }
  return isDone;
}
