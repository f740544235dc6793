// The event log of each tenant: written in the commit of the change that an event follows from, deleted when old.
import type { Knex } from 'knex';
import type { ConnectorId, ControllerUuid, LocationId, TenantUuid } from '../../../machines/values/ids.js';
import type { EpochMs } from '../../../machines/values/time.js';
import { engineOf } from '../../outbound/knex/engine.js';
import { type Columns, jsonRows } from '../../outbound/knex/json-rows.js';
import type { EventRecord, EventType } from '../../ports/records.js';

/** An event before it has its id. */
export interface NewEvent extends Omit<EventRecord, 'id'> {
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
  event_id: 'bigint',
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
const EVENT = Object.keys(COLUMNS).filter((name) => !['tenant_uuid', 'event_key'].includes(name));

const INSERT = { sqlite: insert('sqlite'), postgres: insert('postgres') };

function insert(engine: 'sqlite' | 'postgres'): string {
  return `insert into events (${NAMES}) select ${NAMES} from ${jsonRows(engine, COLUMNS)} as given where true
    on conflict do nothing`;
}

/**
 * Appends events of one tenant in the given order. The caller keeps other writers of the tenant out, so ids ascend in
 * the order of commits.
 */
export async function appendEvents(
  trx: Knex.Transaction,
  tenantUuid: TenantUuid,
  events: readonly NewEvent[],
): Promise<void> {
  if (events.length === 0) return;
  const counted: { last_id: number | string }[] = await trx('event_counters')
    .insert({ tenant_uuid: tenantUuid, last_id: events.length, forgotten_id: 0 })
    .onConflict('tenant_uuid')
    .merge({ last_id: trx.raw('event_counters.last_id + ?', [events.length]) })
    .returning('last_id');
  const firstId = Number(counted[0]?.last_id) - events.length + 1;
  const rows = events.map((event, nth) => [
    tenantUuid,
    firstId + nth,
    event.key ?? null,
    event.type,
    event.atMs,
    event.locationId,
    event.controllerUuid,
    event.connectorId,
    event.by,
    JSON.stringify(event.data),
  ]);
  await trx.raw(INSERT[engineOf(trx)], [JSON.stringify(rows)]);
  const lastId = firstId + events.length - 1;
  if (Math.floor(lastId / FORGOTTEN_EVERY) > Math.floor((firstId - 1) / FORGOTTEN_EVERY))
    await forgetOld(trx, tenantUuid, Math.max(...events.map(({ atMs }) => atMs)) - KEPT_MS);
}

/** Deletes the oldest events of the tenant, as far as they are from before `beforeMs`. */
async function forgetOld(trx: Knex.Transaction, tenantUuid: TenantUuid, beforeMs: EpochMs): Promise<void> {
  const ofTenant = { tenant_uuid: tenantUuid };
  const oldest: { event_id: number | string; at_ms: number | string }[] = await trx('events')
    .where(ofTenant)
    .select('event_id', 'at_ms')
    .orderBy('event_id')
    .limit(FORGOTTEN_AT_ONCE);
  const kept = oldest.find(({ at_ms: atMs }) => Number(atMs) >= beforeMs);
  const forgottenId = kept === undefined ? oldest.at(-1)?.event_id : Number(kept.event_id) - 1;
  if (forgottenId === undefined) return;
  await trx('events').where(ofTenant).where('event_id', '<=', forgottenId).delete();
  const counter = trx('event_counters').where(ofTenant);
  await counter.where('forgotten_id', '<', forgottenId).update({ forgotten_id: forgottenId });
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
    readonly locationId: LocationId | undefined;
    readonly count: number;
  },
): Promise<EventPage> {
  const { afterId, types, locationId, count } = filter;
  const ofTenant = { tenant_uuid: tenantUuid };
  const rows: EventRow[] = await trx('events')
    .where({ ...ofTenant, ...(locationId !== undefined && { location_id: locationId }) })
    .where('event_id', '>', afterId)
    .modify((query) => types !== undefined && query.whereIn('type', types))
    .select(...EVENT)
    .orderBy('event_id')
    .limit(count);
  const counter: { last_id: number | string; forgotten_id: number | string } | undefined = await trx(
    'event_counters',
  )
    .where(ofTenant)
    .first('last_id', 'forgotten_id');
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
    newestId: Number(counter?.last_id ?? 0),
    forgottenId: Number(counter?.forgotten_id ?? 0),
  };
}
