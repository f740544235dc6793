// The event log of each tenant: written in the commit of the change that an event follows from, deleted when old.
import type { Knex } from 'knex';
import type { ConnectorId, ControllerUuid, LocationId, TenantUuid } from '../../../machines/values/ids.js';
import type { EpochMs } from '../../../machines/values/time.js';
import { type Engine, engineOf } from '../../outbound/knex/engine.js';
import { type Columns, jsonRows } from '../../outbound/knex/json-rows.js';
import type { EventRecord, EventType } from '../../ports/records.js';

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

const KEPT_MS = 366 * 86_400_000;
/** Old events are deleted after so many new ones, and at most that many at once, so that a write stays short. */
const FORGOTTEN_EVERY = 1_000;
const FORGOTTEN_AT_ONCE = 2_000;

const NAMES = Object.keys(COLUMNS).join(', ');
const ID = `(select coalesce(max(event_id), 0) from events where events.tenant_uuid = given.tenant_uuid) + given.nth`;
const EVENT = Object.keys(COLUMNS).filter((name) => name !== 'tenant_uuid' && name !== 'event_key');

const INSERT = { sqlite: insert('sqlite'), postgres: insert('postgres') };

function insert(engine: Engine): string {
  return `insert into events (event_id, ${NAMES}) select ${ID}, ${NAMES} from ${jsonRows(engine, COLUMNS)} as given
    where true on conflict do nothing returning tenant_uuid, event_id`;
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
  const answer: InsertedRow[] | { readonly rows: InsertedRow[] } = await trx.raw(INSERT[engineOf(trx)], [
    JSON.stringify(rows),
  ]);
  const span = new Map<TenantUuid, { leastId: number; mostId: number }>();
  for (const { tenant_uuid: tenantUuid, event_id: id } of 'rows' in answer ? answer.rows : answer) {
    const { leastId, mostId } = span.get(tenantUuid) ?? { leastId: Number(id), mostId: Number(id) };
    span.set(tenantUuid, { leastId: Math.min(leastId, Number(id)), mostId: Math.max(mostId, Number(id)) });
  }
  for (const [tenantUuid, { leastId, mostId }] of span)
    if (Math.floor(mostId / FORGOTTEN_EVERY) > Math.floor((leastId - 1) / FORGOTTEN_EVERY))
      await forgetOld(trx, tenantUuid, Math.max(...events.map(({ atMs }) => atMs)) - KEPT_MS);
}

interface InsertedRow {
  readonly tenant_uuid: TenantUuid;
  readonly event_id: number | string;
}

/** Deletes the oldest events of the tenant, as far as they are from before `beforeMs`. The newest one always stays. */
async function forgetOld(trx: Knex.Transaction, tenantUuid: TenantUuid, beforeMs: EpochMs): Promise<void> {
  const ofTenant = { tenant_uuid: tenantUuid };
  const oldest: { event_id: number | string; at_ms: number | string }[] = await trx('events')
    .where(ofTenant)
    .select('event_id', 'at_ms')
    .orderBy('event_id')
    .limit(FORGOTTEN_AT_ONCE);
  const firstKept = oldest.find(({ at_ms: atMs }) => Number(atMs) >= beforeMs) ?? oldest.at(-1);
  if (firstKept !== undefined)
    await trx('events').where(ofTenant).where('event_id', '<', firstKept.event_id).delete();
}

export interface EventPage {
  /** The oldest first. */
  readonly events: readonly EventRecord[];
  /** Id of the newest event of the tenant; 0 without any. */
  readonly newestId: number;
  /** Id up to which old events were deleted; 0 without any. */
  readonly forgottenId: number;
}

/** Events with a higher id than `afterId`, at most `count`. */
export async function readEvents(
  trx: Knex.Transaction,
  tenantUuid: TenantUuid,
  filter: {
    readonly afterId: number;
    readonly types: readonly EventType[] | undefined;
    /** Null: events without a location. Undefined: all. */
    readonly locationId: LocationId | null | undefined;
    readonly count: number;
  },
): Promise<EventPage> {
  const { afterId, types, locationId, count } = filter;
  const ofTenant = { tenant_uuid: tenantUuid };
  const rows: EventRow[] = await trx('events')
    .where({ ...ofTenant, ...(locationId !== undefined && { location_id: locationId }) })
    .where('event_id', '>', afterId)
    .modify((query) => types !== undefined && query.whereIn('type', types))
    .select('event_id', ...EVENT)
    .orderBy('event_id')
    .limit(count);
  const [ends]: { newest: number | string | null; oldest: number | string | null }[] = await trx('events')
    .where(ofTenant)
    .max({ newest: 'event_id' })
    .min({ oldest: 'event_id' });
  return {
    events: rows.map((row) => ({
      id: Number(row.event_id),
      type: row.type,
      atMs: Number(row.at_ms),
      locationId: row.location_id,
      controllerUuid: row.controller_uuid,
      connectorId: row.connector_id,
      by: row.caused_by,
      data: JSON.parse(row.data) as EventRecord['data'],
    })),
    newestId: Number(ends?.newest ?? 0),
    forgottenId: Math.max(0, Number(ends?.oldest ?? 0) - 1),
  };
}
