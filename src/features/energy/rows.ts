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

export const GROUPS = ['connector', 'location', 'cluster', 'tenant'] as const;
export type Group = (typeof GROUPS)[number];

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

const GROUP_COLUMNS: Readonly<Record<Group, readonly string[]>> = {
  connector: ['location_id', 'controller_uuid', 'connector_id'],
  location: ['location_id'],
  cluster: ['cluster_id'],
  tenant: [],
};

interface GroupRow {
  readonly period: string | number;
  readonly location_id?: LocationId;
  readonly controller_uuid?: ControllerUuid;
  readonly connector_id?: ConnectorId;
  readonly cluster_id?: ClusterId;
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
  const period = resolution === 'day' ? 'day' : 'substr(day, 1, 7)';
  return grouped(trx, filter, period, 'wh', 'integrated_wh', daysOf(trx, tenantUuid, fromDay, toDay, filter));
}

// Both engines have the place of a quarter-hour as text.
const QUARTERS: Readonly<Record<Engine, string>> = {
  sqlite: 'json_each(quarters) as quarter',
  postgres: 'jsonb_each_text(quarters::jsonb) as quarter',
};
const INTEGRATED: Readonly<Record<Engine, string>> = {
  sqlite: `coalesce(json_extract(integrated_quarters, '$."' || quarter.key || '"'), 0)`,
  postgres: 'coalesce((integrated_quarters::jsonb ->> quarter.key)::double precision, 0)',
};
const DAY_MS = 86_400_000;
const QUARTER_AT = `(starts_at_ms + cast(quarter.key as bigint) * ${QUARTER_MS})`;

/** Energy of the quarter-hours that begin inside `window`, in order. */
export async function readEnergyOfQuarters(
  trx: Knex.Transaction,
  tenantUuid: TenantUuid,
  window: TimeWindow,
  filter: EnergyFilter,
): Promise<EnergyOfGroup[]> {
  const engine = engineOf(trx);
  // No date of an instant is further from that in UTC.
  const [fromDay, toDay] = [toDate(window.startsAtMs - 2 * DAY_MS), toDate(window.endsAtMs + 2 * DAY_MS)];
  const quarters = daysOf(trx, tenantUuid, fromDay, toDay, filter)
    // The longest day has 25 hours.
    .where('starts_at_ms', '>', window.startsAtMs - 1.25 * DAY_MS)
    .where('starts_at_ms', '<', window.endsAtMs)
    .joinRaw(`cross join ${QUARTERS[engine]}`)
    .whereRaw(`${QUARTER_AT} >= ? and ${QUARTER_AT} < ?`, [window.startsAtMs, window.endsAtMs]);
  const wh = engine === 'sqlite' ? 'quarter.value' : 'quarter.value::double precision';
  const found = await grouped(trx, filter, QUARTER_AT, wh, INTEGRATED[engine], quarters);
  return found.map((each) => ({ ...each, period: Number(each.period) }));
}

function daysOf(
  trx: Knex.Transaction,
  tenantUuid: TenantUuid,
  fromDay: string,
  toDay: string,
  { locationId, connector }: EnergyFilter,
): Knex.QueryBuilder {
  return trx('energy_days')
    .where({ tenant_uuid: tenantUuid })
    .where('day', '>=', fromDay)
    .where('day', '<', toDay)
    .where({
      ...(locationId !== undefined && { location_id: locationId }),
      ...(connector && { controller_uuid: connector.controllerUuid, connector_id: connector.connectorId }),
    });
}

async function grouped(
  trx: Knex.Transaction,
  { group, members, count }: EnergyFilter,
  period: string,
  wh: string,
  integratedWh: string,
  days: Knex.QueryBuilder,
): Promise<EnergyOfGroup[]> {
  const columns = GROUP_COLUMNS[group];
  const by = ['period', ...columns].map((_, i) => i + 1).join(', ');
  if (group === 'cluster') {
    const ofMembers = jsonRows(engineOf(trx), { cluster_id: 'text', member_id: 'text' });
    days.joinRaw(`join ${ofMembers} as members on members.member_id = energy_days.location_id`, [
      JSON.stringify(members),
    ]);
  }
  const rows: GroupRow[] = await days
    .select(trx.raw(`${period} as period`), ...columns)
    .select(trx.raw(`sum(${wh}) as wh, sum(${integratedWh}) as integrated_wh`))
    .groupByRaw(by)
    .orderByRaw(by)
    .limit(count);
  return rows.map((row) => ({
    period: row.period,
    locationId: row.location_id ?? null,
    controllerUuid: row.controller_uuid ?? null,
    connectorId: row.connector_id ?? null,
    clusterId: row.cluster_id ?? null,
    wh: row.wh,
    integratedWh: row.integrated_wh,
  }));
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
