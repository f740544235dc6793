// The event log of each tenant: written in the commit of the change that an event follows from, deleted when old. The row
// of a profile is its own event: another row for it would cost a quarter of the writes. Both count by one sequence.
import type { Knex } from 'knex';
import type { ConnectorId, ControllerUuid, LocationId, TenantUuid } from '../../../machines/values/ids.js';
import type { EpochMs } from '../../../machines/values/time.js';
import { type Engine, engineOf } from '../../outbound/knex/engine.js';
import { type LogEnds, newestEventId, readEnds } from '../../outbound/knex/event-ids.js';
import { type Columns, jsonRows } from '../../outbound/knex/json-rows.js';
import type { EventRecord, EventType } from '../../ports/records.js';
import { toInstant } from '../../wire/instants.js';

/** An event before it has its id. */
export interface NewEvent extends Omit<EventRecord, 'id'> {
  readonly tenantUuid: TenantUuid;
  /**
   * Repeated writes with this key are one event. Undefined for a change that is never written again: each of them is
   * an event.
   */
  readonly key: string | undefined;
}

interface EventRow {
  readonly event_id: number | string;
  readonly type: EventType;
  readonly at_ms: EpochMs;
  readonly location_id: LocationId | null;
  readonly controller_uuid: ControllerUuid | null;
  readonly connector_id: ConnectorId | null;
  readonly caused_by: string | null;
  /** JSON. */
  readonly data: string;
}

const COLUMNS = {
  tenant_uuid: 'text',
  event_key: 'text',
  type: 'text',
  at_ms: 'bigint',
  location_id: 'text',
  controller_uuid: 'text',
  connector_id: 'text',
  caused_by: 'text',
  data: 'text',
} as const satisfies Columns;

export const EVENTS_KEPT_MS = 366 * 86_400_000;
/** Old events are deleted in steps, so that writes between them wait shortly. */
const FORGOTTEN_AT_ONCE = 2_000;

const NAMES = Object.keys(COLUMNS).join(', ');
const EVENT = Object.keys(COLUMNS).filter((name) => name !== 'tenant_uuid' && name !== 'event_key');

const INSERT = { sqlite: insert('sqlite'), postgres: insert('postgres') };

function insert(engine: Engine): string {
  return `insert into events (event_id, ${NAMES}) select ${newestEventId(engine, 'given.tenant_uuid')} + nth, ${NAMES}
    from ${jsonRows(engine, COLUMNS)} as given where true on conflict do nothing`;
}

/**
 * Appends events in the given order. The caller keeps other writers of their tenants out, so ids ascend in the order of
 * commits. It is one statement, because each costs as much as many rows.
 */
export async function appendEvents(trx: Knex.Transaction, events: readonly NewEvent[]): Promise<void> {
  if (events.length === 0) return;
  const rows = events.map((event) => [
    event.tenantUuid,
    event.key ?? null,
    event.type,
    event.atMs,
    event.locationId,
    event.controllerUuid,
    event.connectorId,
    event.by,
    event.data,
  ]);
  await trx.raw(INSERT[engineOf(trx)], [JSON.stringify(rows)]);
}

/**
 * Deletes some of the events from before `beforeMs`, of one tenant: its oldest. The newest one of a tenant always stays.
 * @returns true if none are left
 */
export async function forgetSomeEvents(trx: Knex.Transaction, beforeMs: EpochMs): Promise<boolean> {
  const idsOfTenant = trx('events as each').whereRaw('each.tenant_uuid = tenants.tenant_uuid');
  const tenant: { tenant_uuid: TenantUuid } | undefined = await trx('tenants')
    .join('events', 'events.tenant_uuid', 'tenants.tenant_uuid')
    .where('events.event_id', idsOfTenant.clone().min('event_id'))
    .where('events.event_id', '<', idsOfTenant.clone().max('event_id'))
    .where('events.at_ms', '<', beforeMs)
    .first('tenants.tenant_uuid');
  if (tenant === undefined) return true;
  const oldest: { event_id: number | string; at_ms: number | string }[] = await trx('events')
    .where(tenant)
    .select('event_id', 'at_ms')
    .orderBy('event_id')
    .limit(FORGOTTEN_AT_ONCE);
  const kept = oldest.findIndex(({ at_ms: atMs }) => Number(atMs) >= beforeMs);
  const forgottenId = oldest.at(kept === -1 ? -2 : kept - 1)?.event_id ?? 0;
  await trx('events').where(tenant).where('event_id', '<=', forgottenId).delete();
  await trx('tenants').where(tenant).update({ forgotten_event_id: forgottenId });
  return false;
}

export interface EventPage extends LogEnds {
  /** The oldest first. */
  readonly events: readonly EventRecord[];
}

interface EventFilter {
  readonly afterId: number;
  /** Undefined: all. */
  readonly types: readonly EventType[] | undefined;
  /** Null: events without a location. Undefined: all. */
  readonly locationId: LocationId | null | undefined;
  readonly count: number;
}

/** Events with a higher id than `afterId`, at most `count`. */
export async function readEvents(
  trx: Knex.Transaction,
  tenantUuid: TenantUuid,
  filter: EventFilter,
): Promise<EventPage> {
  const ends = await readEnds(trx, tenantUuid);
  const kept = { ...filter, afterId: Math.max(filter.afterId, ends.forgottenId) };
  const events = [
    ...(await readLogged(trx, tenantUuid, kept)),
    ...(await readSubmitted(trx, tenantUuid, kept)),
  ].sort((one, other) => one.id - other.id);
  return { events: events.slice(0, filter.count), ...ends };
}

async function readLogged(
  trx: Knex.Transaction,
  tenantUuid: TenantUuid,
  { afterId, types, locationId, count }: EventFilter,
): Promise<readonly EventRecord[]> {
  const rows: EventRow[] = await trx('events')
    .where({ tenant_uuid: tenantUuid, ...(locationId !== undefined && { location_id: locationId }) })
    .where('event_id', '>', afterId)
    .modify((query) => types !== undefined && query.whereIn('type', types))
    .select('event_id', ...EVENT)
    .orderBy('event_id')
    .limit(count);
  return rows.map((row) => ({
    id: Number(row.event_id),
    type: row.type,
    atMs: Number(row.at_ms),
    locationId: row.location_id,
    controllerUuid: row.controller_uuid,
    connectorId: row.connector_id,
    by: row.caused_by,
    data: JSON.parse(row.data) as EventRecord['data'],
  }));
}

interface SubmittedRow {
  readonly submission: number | string;
  readonly submitted_at_ms: number | string;
  readonly location_id: LocationId | null;
  readonly controller_uuid: ControllerUuid | null;
  readonly connector_id: ConnectorId | null;
  readonly submitted_by: string;
  readonly priority: number;
  readonly limit_kw: number;
  readonly starts_at_ms: number | string;
  readonly ends_at_ms: number | string;
  readonly cluster_id: string | null;
}

/** Profiles of locations and connectors. A connector's location is its present one. */
async function readSubmitted(
  trx: Knex.Transaction,
  tenantUuid: TenantUuid,
  { afterId, types, locationId, count }: EventFilter,
): Promise<readonly EventRecord[]> {
  if (types !== undefined && !types.includes('profile.submitted')) return [];
  const rows: SubmittedRow[] = await trx('profiles')
    .leftJoin('chargers', {
      'chargers.tenant_uuid': 'profiles.tenant_uuid',
      'chargers.controller_uuid': 'profiles.controller_uuid',
    })
    .where('profiles.tenant_uuid', tenantUuid)
    .where('profiles.submission', '>', afterId)
    .whereNotNull('profiles.submitted_by')
    .modify(
      (query) =>
        locationId !== undefined &&
        query.whereRaw(`${LOCATION} ${locationId === null ? 'is null' : '= ?'}`, locationId ?? []),
    )
    .select(
      trx.raw(`${LOCATION} as location_id`),
      ...['submission', 'submitted_at_ms', 'controller_uuid', 'connector_id', 'submitted_by', 'priority'].map(
        (name) => `profiles.${name}`,
      ),
      ...['limit_kw', 'starts_at_ms', 'ends_at_ms', 'cluster_id'].map((name) => `profiles.${name}`),
    )
    .orderBy('profiles.submission')
    .limit(count);
  return rows.map((row) => ({
    id: Number(row.submission),
    type: 'profile.submitted',
    atMs: Number(row.submitted_at_ms),
    locationId: row.location_id,
    controllerUuid: row.controller_uuid,
    connectorId: row.connector_id,
    by: row.submitted_by,
    data: {
      priority: row.priority,
      limitKw: row.limit_kw,
      startTime: toInstant(Number(row.starts_at_ms)),
      endTime: toInstant(Number(row.ends_at_ms)),
      clusterId: row.cluster_id,
    },
  }));
}

const LOCATION = 'coalesce(profiles.location_id, chargers.location_id)';
