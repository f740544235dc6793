// Grid operators of locations, and the history of their limits. The newest row of a location is its present state.
import type { Knex } from 'knex';
import type { OperatorState } from '../../../machines/limits/lpc.machine.js';
import type { LocationId, TenantUuid } from '../../../machines/values/ids.js';
import type { TimeWindow } from '../../../machines/values/time.js';
import { type Engine, engineOf, exactDouble } from '../../outbound/knex/engine.js';
import {
  type Columns,
  isStored,
  jsonRows,
  type KeyedTable,
  provisionOfLocations,
} from '../../outbound/knex/json-rows.js';
import type { ProvisionedTenant, ProvisioningAction } from '../../ports/administration.js';
import type { OperatorEventRecord, OperatorRecord } from '../../ports/records.js';
import type { ChangeOf, Page } from '../../ports/store.js';

interface OperatorRow {
  readonly location_id: LocationId;
  readonly operator_uuid: string;
  readonly mqtt_secret_hash: string | null;
  readonly failsafe_kw: number;
  readonly failsafe_min_ms: number;
  readonly missing_after_ms: number;
}

const OPERATORS = {
  name: 'operators',
  key: ['tenant_uuid', 'location_id'],
  columns: {
    tenant_uuid: 'text',
    location_id: 'text',
    operator_uuid: 'text',
    mqtt_secret_hash: 'text',
    failsafe_kw: 'double precision',
    failsafe_min_ms: 'bigint',
    missing_after_ms: 'bigint',
  },
} as const satisfies KeyedTable<Columns>;

/** The operator of each location that has one. */
export async function loadOperators(
  trx: Knex.Transaction,
  tenantUuid: TenantUuid,
): Promise<ReadonlyMap<LocationId, OperatorRecord>> {
  const rows: OperatorRow[] = await trx('operators').where('tenant_uuid', tenantUuid);
  return new Map(rows.map((row) => [row.location_id, operatorOf(row)]));
}

function operatorOf(row: OperatorRow): OperatorRecord {
  return {
    operatorUuid: row.operator_uuid,
    failsafeKw: row.failsafe_kw,
    failsafeMinMs: row.failsafe_min_ms,
    missingAfterMs: row.missing_after_ms,
  };
}

/** The file decides: an operator that it no longer names loses its right to limit the location. */
export function provisionOperators(
  trx: Knex.Transaction,
  tenant: ProvisionedTenant,
): Promise<ReadonlyMap<LocationId, ProvisioningAction>> {
  return provisionOfLocations(trx, OPERATORS, {
    kind: 'operator',
    idColumn: 'operator_uuid',
    tenant,
    rowOf: ({ locationId, operator }, storedHash) =>
      operator && {
        tenant_uuid: tenant.tenantUuid,
        location_id: locationId,
        operator_uuid: operator.operatorUuid,
        mqtt_secret_hash: operator.mqttSecretHash ?? storedHash,
        failsafe_kw: operator.failsafeKw,
        failsafe_min_ms: operator.failsafeMinMs,
        missing_after_ms: operator.missingAfterMs,
      },
  });
}

interface OperatorEventRow {
  readonly location_id: LocationId;
  readonly recorded_at_ms: number;
  readonly state: OperatorState;
  readonly since_ms: number;
  readonly source: string | null;
  readonly limit_kw: number | null;
  readonly ends_at_ms: number | null;
  readonly sent_at_ms: number | null;
  readonly newest_sent_at_ms: number | null;
}

const COLUMNS = {
  tenant_uuid: 'text',
  location_id: 'text',
  recorded_at_ms: 'bigint',
  state: 'text',
  since_ms: 'bigint',
  source: 'text',
  limit_kw: 'double precision',
  ends_at_ms: 'bigint',
  sent_at_ms: 'bigint',
  newest_sent_at_ms: 'bigint',
} as const satisfies Columns;
const NAMES = Object.keys(COLUMNS).join(', ');

const INSERT = { sqlite: insertion('sqlite'), postgres: insertion('postgres') };

function insertion(engine: Engine): string {
  const last = `(select coalesce(max(change), 0) from operator_events
      where tenant_uuid = given.tenant_uuid and location_id = given.location_id)`;
  return `insert into operator_events (change, ${NAMES})
    select ${last} + given.nth, ${NAMES} from ${jsonRows(engine, COLUMNS)} as given
    where ${isStored('locations', ['tenant_uuid', 'location_id'])} order by given.nth`;
}

/** Stores states of limits, in order. Those of unknown locations are left out. */
export async function putOperatorEvents(
  trx: Knex.Transaction,
  changes: readonly ChangeOf<'operator.put'>[],
): Promise<void> {
  if (changes.length === 0) return;
  const rows = changes.map(({ tenantUuid, event }) => [
    tenantUuid,
    event.locationId,
    event.recordedAtMs,
    event.state,
    event.sinceMs,
    event.order?.source ?? null,
    event.limitKw === undefined ? null : exactDouble(event.limitKw),
    event.order?.endsAtMs ?? null,
    event.order?.sentAtMs ?? null,
    event.newestSentAtMs ?? null,
  ]);
  await trx.raw(INSERT[engineOf(trx)], [JSON.stringify(rows)]);
}

/** The newest state of each location of the tenant. */
export async function loadOperatorEvents(
  trx: Knex.Transaction,
  tenantUuid: TenantUuid,
): Promise<OperatorEventRecord[]> {
  const newest = trx('operator_events')
    .where('tenant_uuid', tenantUuid)
    .groupBy('location_id')
    .select('location_id')
    .max({ change: 'change' })
    .as('newest');
  const rows: OperatorEventRow[] = await trx('operator_events as e')
    .join(newest, { 'newest.location_id': 'e.location_id', 'newest.change': 'e.change' })
    .where('e.tenant_uuid', tenantUuid)
    .select('e.*')
    .orderBy('e.location_id');
  return rows.map(eventOf);
}

/** The states inside `window`, the one at its start first, in order. */
export async function readOperatorEvents(
  trx: Knex.Transaction,
  tenantUuid: TenantUuid,
  locationId: LocationId,
  window: TimeWindow,
  page?: Page,
): Promise<OperatorEventRecord[]> {
  const events = () => trx('operator_events').where({ tenant_uuid: tenantUuid, location_id: locationId });
  const begunWith = events().where('recorded_at_ms', '<=', window.startsAtMs).max('change');
  const asked = events()
    .where('recorded_at_ms', '<', Math.max(window.endsAtMs, window.startsAtMs + 1))
    .where('change', '>=', trx.raw('coalesce((?), 0)', [begunWith]))
    .orderBy('change');
  if (page !== undefined) asked.offset(page.offset).limit(page.count);
  const rows: OperatorEventRow[] = await asked;
  return rows.map(eventOf);
}

function eventOf(row: OperatorEventRow): OperatorEventRecord {
  return {
    locationId: row.location_id,
    recordedAtMs: row.recorded_at_ms,
    state: row.state,
    sinceMs: row.since_ms,
    limitKw: row.limit_kw ?? undefined,
    order:
      row.source === null || row.sent_at_ms === null
        ? undefined
        : {
            source: row.source,
            limitKw: row.state === 'limited' ? (row.limit_kw ?? undefined) : undefined,
            endsAtMs: row.ends_at_ms ?? undefined,
            sentAtMs: row.sent_at_ms,
          },
    newestSentAtMs: row.newest_sent_at_ms ?? undefined,
  };
}
