// Declared needs of the car at each connector, with its energy so far: one row, replaced by the next.
import type { Knex } from 'knex';
import type { SessionNeeds } from '../../../machines/policy/session-needs.js';
import {
  type ConnectorId,
  type ControllerUuid,
  connectorKey,
  type TenantUuid,
} from '../../../machines/values/ids.js';
import { type Columns, isStored, type KeyedTable, putRows } from '../../outbound/knex/json-rows.js';
import type { SessionNeedsRecord } from '../../ports/records.js';
import type { ChangeOf } from '../../ports/store.js';

interface NeedsRow {
  readonly controller_uuid: ControllerUuid;
  readonly connector_id: ConnectorId;
  readonly session_id: string | null;
  /** JSON by source. */
  readonly declared: string;
  readonly delivered_wh: number;
  readonly register_wh: number | null;
  readonly arrived_at_ms: number | null;
  /** Both are null, or neither. */
  readonly soc_percent: number | null;
  readonly soc_at_wh: number | null;
}

const CONNECTOR = ['tenant_uuid', 'controller_uuid', 'connector_id'] as const;

const NEEDS = {
  name: 'session_needs',
  key: CONNECTOR,
  columns: {
    tenant_uuid: 'text',
    controller_uuid: 'text',
    connector_id: 'text',
    session_id: 'text',
    declared: 'text',
    delivered_wh: 'double precision',
    register_wh: 'double precision',
    arrived_at_ms: 'bigint',
    soc_percent: 'double precision',
    soc_at_wh: 'double precision',
  },
  onlyWhere: isStored('connectors', CONNECTOR),
} as const satisfies KeyedTable<Columns>;

const NEEDS_COLUMNS = Object.keys(NEEDS.columns).filter((name) => name !== 'tenant_uuid');

/** Replaces the rows of these connectors; the last of each counts. Those of unknown connectors are left out. */
export async function putNeeds(trx: Knex.Transaction, puts: readonly ChangeOf<'needs.put'>[]): Promise<void> {
  const newest = new Map(
    puts.map(({ tenantUuid, needs }) => [
      `${tenantUuid}/${connectorKey(needs)}`,
      {
        tenant_uuid: tenantUuid,
        controller_uuid: needs.controllerUuid,
        connector_id: needs.connectorId,
        session_id: needs.session ?? null,
        declared: JSON.stringify(needs.declared),
        delivered_wh: needs.deliveredWh,
        register_wh: needs.registerWh ?? null,
        arrived_at_ms: needs.arrivedAtMs ?? null,
        soc_percent: needs.charged?.socPercent ?? null,
        soc_at_wh: needs.charged?.deliveredWh ?? null,
      },
    ]),
  );
  await putRows(trx, NEEDS, [...newest.values()]);
}

/** A row without declarations is not kept up to date, so the car that is there may be another one. */
const NOTHING_DECLARED = JSON.stringify({});

/** The rows of a tenant with declarations, by connector. */
export async function loadNeeds(
  trx: Knex.Transaction,
  tenantUuid: TenantUuid,
): Promise<SessionNeedsRecord[]> {
  const rows: NeedsRow[] = await trx('session_needs')
    .where('tenant_uuid', tenantUuid)
    .whereNot('declared', NOTHING_DECLARED)
    .select(...NEEDS_COLUMNS)
    .orderBy(['controller_uuid', 'connector_id']);
  return rows.map(({ soc_percent: socPercent, soc_at_wh: socAtWh, ...row }) => ({
    controllerUuid: row.controller_uuid,
    connectorId: row.connector_id,
    session: row.session_id ?? undefined,
    declared: JSON.parse(row.declared) as SessionNeeds['declared'],
    deliveredWh: row.delivered_wh,
    registerWh: row.register_wh ?? undefined,
    arrivedAtMs: row.arrived_at_ms ?? undefined,
    charged: socPercent === null || socAtWh === null ? undefined : { socPercent, deliveredWh: socAtWh },
  }));
}
