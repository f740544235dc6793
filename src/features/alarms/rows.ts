// Alarms as rows: inserted when they begin, stamped when they end, never deleted.
import type { Knex } from 'knex';
import type { ConnectorId, ControllerUuid, LocationId, TenantUuid } from '../../../machines/values/ids.js';
import type { EpochMs, TimeWindow } from '../../../machines/values/time.js';
import { type Engine, engineOf, readThrough } from '../../outbound/knex/engine.js';
import { type Columns, isStored, jsonRows } from '../../outbound/knex/json-rows.js';
import type { AlarmRecord } from '../../ports/records.js';
import type { ChangeOf } from '../../ports/store.js';

interface AlarmRow {
  readonly alarm_id: string;
  readonly kind: AlarmRecord['kind'];
  readonly location_id: LocationId;
  readonly controller_uuid: ControllerUuid | null;
  readonly connector_id: ConnectorId | null;
  readonly reason: string;
  /** null while it equals `reason`. */
  readonly first_reason: string | null;
  readonly began_at_ms: number;
  readonly ended_at_ms: number | null;
  readonly acknowledged_at_ms: number | null;
  readonly acknowledged_by: string | null;
  readonly acknowledgement_note: string | null;
  /** null: no. */
  readonly is_withheld: number | null;
}

const BEGIN_COLUMNS = {
  tenant_uuid: 'text',
  alarm_id: 'text',
  kind: 'text',
  location_id: 'text',
  controller_uuid: 'text',
  connector_id: 'text',
  reason: 'text',
  began_at_ms: 'bigint',
  ended_at_ms: 'bigint',
  is_withheld: 'integer',
} as const satisfies Columns;

const ACKNOWLEDGE_COLUMNS = {
  tenant_uuid: 'text',
  alarm_id: 'text',
  acknowledged_at_ms: 'bigint',
  acknowledged_by: 'text',
  acknowledgement_note: 'text',
} as const satisfies Columns;

const ALARM = [
  ...new Set([...Object.keys(BEGIN_COLUMNS), ...Object.keys(ACKNOWLEDGE_COLUMNS), 'first_reason']),
].filter((name) => name !== 'tenant_uuid');

const ANNOUNCE_COLUMNS = { tenant_uuid: 'text', alarm_id: 'text' } as const satisfies Columns;

const CHANGE_COLUMNS = {
  tenant_uuid: 'text',
  alarm_id: 'text',
  reason: 'text',
} as const satisfies Columns;

const END_COLUMNS = {
  tenant_uuid: 'text',
  alarm_id: 'text',
  ended_at_ms: 'bigint',
} as const satisfies Columns;

const STATEMENTS = { sqlite: statements('sqlite'), postgres: statements('postgres') };

function statements(engine: Engine) {
  const columns = Object.keys(BEGIN_COLUMNS).join(', ');
  return {
    begin: `insert into alarms (${columns})
      select ${columns} from ${jsonRows(engine, BEGIN_COLUMNS)} as given
      where ${isStored('locations', ['tenant_uuid', 'location_id'])}
        and (controller_uuid is null or ${isStored('connectors', ['tenant_uuid', 'controller_uuid', 'connector_id'])})
      on conflict do nothing`,
    change: `update alarms set first_reason = coalesce(alarms.first_reason, alarms.reason), reason = given.reason
      from ${jsonRows(engine, CHANGE_COLUMNS)} as given
      where alarms.tenant_uuid = given.tenant_uuid and alarms.alarm_id = given.alarm_id
        and alarms.ended_at_ms is null`,
    acknowledge: `update alarms set acknowledged_at_ms = given.acknowledged_at_ms,
        acknowledged_by = given.acknowledged_by, acknowledgement_note = given.acknowledgement_note
      from ${jsonRows(engine, ACKNOWLEDGE_COLUMNS)} as given
      where alarms.tenant_uuid = given.tenant_uuid and alarms.alarm_id = given.alarm_id`,
    announce: `update alarms set is_withheld = 0 from ${jsonRows(engine, ANNOUNCE_COLUMNS)} as given
      where alarms.tenant_uuid = given.tenant_uuid and alarms.alarm_id = given.alarm_id`,
    end: `update alarms set ended_at_ms = given.ended_at_ms from ${jsonRows(engine, END_COLUMNS)} as given
      where alarms.tenant_uuid = given.tenant_uuid and alarms.alarm_id = given.alarm_id
        and alarms.ended_at_ms is null`,
  };
}

/** Stores alarms. A stored one stays as it is; those of unknown locations or connectors are left out. */
export async function beginAlarms(
  trx: Knex.Transaction,
  begins: readonly ChangeOf<'alarm.begin'>[],
): Promise<void> {
  if (begins.length === 0) return;
  const rows = begins.map(({ tenantUuid, alarm }) => [
    tenantUuid,
    alarm.alarmId,
    alarm.kind,
    alarm.locationId,
    alarm.controllerUuid,
    alarm.connectorId,
    alarm.reason,
    alarm.beganAtMs,
    alarm.endedAtMs,
    alarm.isWithheld ? 1 : 0,
  ]);
  await trx.raw(STATEMENTS[engineOf(trx)].begin, [JSON.stringify(rows)]);
}

/**
 * Changes the reason of open alarms; the last one of each counts. The first reason stays. Unknown alarms are left out.
 */
export async function changeAlarms(
  trx: Knex.Transaction,
  changes: readonly ChangeOf<'alarm.change'>[],
): Promise<void> {
  if (changes.length === 0) return;
  const last = new Map(
    changes.map(({ tenantUuid, alarmId, reason }) => [
      `${tenantUuid}/${alarmId}`,
      [tenantUuid, alarmId, reason],
    ]),
  );
  await trx.raw(STATEMENTS[engineOf(trx)].change, [JSON.stringify([...last.values()])]);
}

/** The last one of each alarm counts. Unknown alarms are left out. */
export async function acknowledgeAlarms(
  trx: Knex.Transaction,
  changes: readonly ChangeOf<'alarm.acknowledge'>[],
): Promise<void> {
  const last = new Map(
    changes.map(({ tenantUuid, alarm: { alarmId, acknowledgement } }) => [
      `${tenantUuid}/${alarmId}`,
      [
        tenantUuid,
        alarmId,
        acknowledgement?.atMs ?? null,
        acknowledgement?.by ?? null,
        acknowledgement?.note ?? null,
      ],
    ]),
  );
  await trx.raw(STATEMENTS[engineOf(trx)].acknowledge, [JSON.stringify([...last.values()])]);
}

export async function announceAlarms(
  trx: Knex.Transaction,
  changes: readonly ChangeOf<'alarm.announce'>[],
): Promise<void> {
  const rows = changes.map(({ tenantUuid, alarm }) => [tenantUuid, alarm.alarmId]);
  await trx.raw(STATEMENTS[engineOf(trx)].announce, [JSON.stringify(rows)]);
}

/** Stamps the end of alarms. The first end of each counts; unknown alarms are left out. */
export async function endAlarms(
  trx: Knex.Transaction,
  ends: readonly ChangeOf<'alarm.end'>[],
): Promise<void> {
  if (ends.length === 0) return;
  const first = new Map<string, readonly [TenantUuid, string, EpochMs]>();
  for (const { tenantUuid, alarm } of ends) {
    const { alarmId, beganAtMs, endedAtMs } = alarm;
    const key = `${tenantUuid}/${alarmId}`;
    if (!first.has(key)) first.set(key, [tenantUuid, alarmId, endedAtMs ?? beganAtMs]);
  }
  await trx.raw(STATEMENTS[engineOf(trx)].end, [JSON.stringify([...first.values()])]);
}

/** The open alarms of a tenant, the oldest first. */
export async function loadOpenAlarms(trx: Knex.Transaction, tenantUuid: TenantUuid): Promise<AlarmRecord[]> {
  const rows: AlarmRow[] = await trx(readThrough(trx, 'alarms', 'alarms_open'))
    .where('tenant_uuid', tenantUuid)
    .whereNull('ended_at_ms')
    .select(...ALARM)
    .orderBy(['began_at_ms', 'alarm_id']);
  return rows.map(alarmOf);
}

/** Alarms that were open at any time inside `window`, the newest first, at most `count`; of one location or of all. */
export async function readAlarms(
  trx: Knex.Transaction,
  tenantUuid: TenantUuid,
  filter: {
    readonly locationId: LocationId | undefined;
    readonly window: TimeWindow;
    readonly count: number;
  },
): Promise<AlarmRecord[]> {
  const { locationId, window, count } = filter;
  const index = locationId === undefined ? 'alarms_by_tenant' : 'alarms_by_location';
  const rows: AlarmRow[] = await trx(readThrough(trx, 'alarms', index))
    .where({ tenant_uuid: tenantUuid, ...(locationId === undefined ? {} : { location_id: locationId }) })
    .where('began_at_ms', '<', window.endsAtMs)
    .where((lasts) =>
      lasts
        .whereNull('ended_at_ms')
        .orWhere('ended_at_ms', '>', window.startsAtMs)
        // An alarm that ended in the millisecond of its begin, or before it because the clock was set back.
        .orWhere('began_at_ms', '>=', window.startsAtMs),
    )
    .select(...ALARM)
    .orderBy([
      { column: 'began_at_ms', order: 'desc' },
      { column: 'alarm_id', order: 'desc' },
    ])
    .limit(count);
  return rows.map(alarmOf);
}

function alarmOf(row: AlarmRow): AlarmRecord {
  return {
    alarmId: row.alarm_id,
    kind: row.kind,
    locationId: row.location_id,
    controllerUuid: row.controller_uuid,
    connectorId: row.connector_id,
    reason: row.reason,
    firstReason: row.first_reason ?? row.reason,
    beganAtMs: row.began_at_ms,
    endedAtMs: row.ended_at_ms,
    acknowledgement:
      row.acknowledged_at_ms === null || row.acknowledged_by === null
        ? null
        : {
            atMs: row.acknowledged_at_ms,
            by: row.acknowledged_by,
            note: row.acknowledgement_note,
          },
    isWithheld: row.is_withheld === 1,
    mutedUntilMs: null,
  };
}
