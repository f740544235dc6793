// Ended charging sessions as rows, never deleted.
import type { Knex } from 'knex';
import type { SessionNeed, SessionNeeds } from '../../../machines/policy/session-needs.js';
import type { SessionTimes } from '../../../machines/power/connector.js';
import type { ConnectorId, ControllerUuid, LocationId, TenantUuid } from '../../../machines/values/ids.js';
import type { EpochMs, TimeWindow } from '../../../machines/values/time.js';
import { readThrough } from '../../outbound/knex/engine.js';
import { type Columns, isStored, type KeyedTable, putRows } from '../../outbound/knex/json-rows.js';
import type { SessionRecord } from '../../ports/records.js';
import type { ChangeOf } from '../../ports/store.js';

interface SessionRow {
  readonly location_id: LocationId;
  readonly controller_uuid: ControllerUuid;
  readonly connector_id: ConnectorId;
  readonly arrived_at_ms: EpochMs;
  readonly left_at_ms: EpochMs;
  /** Empty without one: it is a part of the key, because two sessions may begin in one millisecond. */
  readonly session_id: string;
  readonly id_tag: string | null;
  readonly delivered_wh: number;
  readonly peak_w: number;
  /** 1 if true. */
  readonly is_integrated: number;
  /** JSON by source. */
  readonly declared: string;
  /** JSON. */
  readonly need: string;
  /** null in rows from before it was counted. */
  readonly charging_ms: number | null;
  /** JSON by reason. */
  readonly limited: string | null;
}

const CONNECTOR = ['tenant_uuid', 'controller_uuid', 'connector_id'] as const;

const SESSIONS = {
  name: 'charging_sessions',
  key: [...CONNECTOR, 'arrived_at_ms', 'session_id'],
  columns: {
    tenant_uuid: 'text',
    location_id: 'text',
    controller_uuid: 'text',
    connector_id: 'text',
    arrived_at_ms: 'bigint',
    left_at_ms: 'bigint',
    session_id: 'text',
    id_tag: 'text',
    delivered_wh: 'double precision',
    peak_w: 'double precision',
    is_integrated: 'integer',
    declared: 'text',
    need: 'text',
    charging_ms: 'double precision',
    limited: 'text',
  },
  onlyWhere: isStored('connectors', CONNECTOR),
} as const satisfies KeyedTable<Columns>;

const SESSION_COLUMNS = Object.keys(SESSIONS.columns).filter((name) => name !== 'tenant_uuid');

/** Stores sessions; the last of each connector, begin and session id counts. Those of unknown connectors are left out. */
export async function putSessions(
  trx: Knex.Transaction,
  puts: readonly ChangeOf<'session.put'>[],
): Promise<void> {
  const newest = new Map(
    puts.map(({ tenantUuid, session }) => [
      JSON.stringify([
        tenantUuid,
        session.controllerUuid,
        session.connectorId,
        session.arrivedAtMs,
        session.session ?? '',
      ]),
      {
        tenant_uuid: tenantUuid,
        location_id: session.locationId,
        controller_uuid: session.controllerUuid,
        connector_id: session.connectorId,
        arrived_at_ms: session.arrivedAtMs,
        left_at_ms: session.leftAtMs,
        session_id: session.session ?? '',
        id_tag: session.idTag ?? null,
        delivered_wh: session.deliveredWh,
        peak_w: session.peakW,
        is_integrated: session.isIntegrated ? 1 : 0,
        declared: JSON.stringify(session.declared),
        need: JSON.stringify(session.need),
        charging_ms: session.times.chargingMs ?? null,
        limited: JSON.stringify(session.times.limitedMs),
      },
    ]),
  );
  await putRows(trx, SESSIONS, [...newest.values()]);
}

/** Sessions that ended inside `window`, the newest end first, at most `count`; of one location or of all. */
export async function readSessions(
  trx: Knex.Transaction,
  tenantUuid: TenantUuid,
  filter: {
    readonly locationId: LocationId | undefined;
    readonly connector?:
      | { readonly controllerUuid: ControllerUuid; readonly connectorId: ConnectorId }
      | undefined;
    readonly window: TimeWindow;
    readonly count: number;
  },
): Promise<SessionRecord[]> {
  const { locationId, connector, window, count } = filter;
  const index = locationId === undefined ? 'charging_sessions_by_tenant' : 'charging_sessions_by_location';
  // The key finds a connector.
  const table = connector ? 'charging_sessions' : readThrough(trx, 'charging_sessions', index);
  const rows: SessionRow[] = await trx(table)
    .where({ tenant_uuid: tenantUuid, ...(locationId === undefined ? {} : { location_id: locationId }) })
    .where(
      connector ? { controller_uuid: connector.controllerUuid, connector_id: connector.connectorId } : {},
    )
    .where('left_at_ms', '>=', window.startsAtMs)
    .where('left_at_ms', '<', window.endsAtMs)
    .select(...SESSION_COLUMNS)
    .orderBy([
      { column: 'left_at_ms', order: 'desc' },
      { column: 'controller_uuid' },
      { column: 'connector_id' },
      { column: 'arrived_at_ms', order: 'desc' },
      { column: 'session_id' },
    ])
    .limit(count);
  return rows.map((row) => ({
    locationId: row.location_id,
    controllerUuid: row.controller_uuid,
    connectorId: row.connector_id,
    arrivedAtMs: row.arrived_at_ms,
    leftAtMs: row.left_at_ms,
    session: row.session_id === '' ? undefined : row.session_id,
    idTag: row.id_tag ?? undefined,
    deliveredWh: row.delivered_wh,
    peakW: row.peak_w,
    isIntegrated: row.is_integrated === 1,
    declared: JSON.parse(row.declared) as SessionNeeds['declared'],
    need: JSON.parse(row.need) as SessionNeed,
    times: {
      chargingMs: row.charging_ms ?? undefined,
      limitedMs: row.limited === null ? {} : (JSON.parse(row.limited) as SessionTimes['limitedMs']),
    },
  }));
}
