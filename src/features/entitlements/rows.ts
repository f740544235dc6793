// Persisted worst-case grant per connector: one row, replaced by the next.
import type { Knex } from 'knex';
import {
  type ConnectorId,
  type ControllerUuid,
  connectorKey,
  type TenantUuid,
} from '../../../machines/values/ids.js';
import { type Columns, isStored, type KeyedTable, putRows } from '../../outbound/knex/json-rows.js';
import type { ReservationRecord } from '../../ports/records.js';
import type { ChangeOf } from '../../ports/store.js';

interface ReservationRow {
  readonly controller_uuid: ControllerUuid;
  readonly connector_id: ConnectorId;
  readonly limit_tenths_a: number;
  readonly then_tenths_a: number;
  readonly lease: ReservationRecord['lease'];
  readonly ttl_ms: number | null;
  readonly phases: ReservationRecord['phases'];
}

const CONNECTOR = ['tenant_uuid', 'controller_uuid', 'connector_id'] as const;

const RESERVATIONS = {
  name: 'reservations',
  key: CONNECTOR,
  columns: {
    tenant_uuid: 'text',
    controller_uuid: 'text',
    connector_id: 'text',
    limit_tenths_a: 'integer',
    then_tenths_a: 'integer',
    lease: 'text',
    ttl_ms: 'integer',
    phases: 'integer',
  },
  onlyWhere: isStored('connectors', CONNECTOR),
} as const satisfies KeyedTable<Columns>;

/** Replaces the reservations of these connectors; the last of each counts. Those of unknown connectors are left out. */
export async function putReservations(
  trx: Knex.Transaction,
  puts: readonly ChangeOf<'reservation.put'>[],
): Promise<void> {
  const newest = new Map(
    puts.map(({ tenantUuid, reservation }) => [
      `${tenantUuid}/${connectorKey(reservation)}`,
      {
        tenant_uuid: tenantUuid,
        controller_uuid: reservation.controllerUuid,
        connector_id: reservation.connectorId,
        limit_tenths_a: reservation.limitTenthsA,
        then_tenths_a: reservation.thenTenthsA,
        lease: reservation.lease,
        ttl_ms: reservation.ttlMs,
        phases: reservation.phases,
      },
    ]),
  );
  await putRows(trx, RESERVATIONS, [...newest.values()]);
}

/** The reservations of a tenant, by connector. */
export async function loadReservations(
  trx: Knex.Transaction,
  tenantUuid: TenantUuid,
): Promise<ReservationRecord[]> {
  const rows: ReservationRow[] = await trx('reservations')
    .where('tenant_uuid', tenantUuid)
    .select('controller_uuid', 'connector_id', 'limit_tenths_a', 'then_tenths_a', 'lease', 'ttl_ms', 'phases')
    .orderBy(['controller_uuid', 'connector_id']);
  return rows.map((row) => ({
    controllerUuid: row.controller_uuid,
    connectorId: row.connector_id,
    limitTenthsA: row.limit_tenths_a,
    thenTenthsA: row.then_tenths_a,
    lease: row.lease,
    ttlMs: row.ttl_ms,
    phases: row.phases,
  }));
}
