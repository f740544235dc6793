// Mutes of alarms as rows, one for each kind and place, until their end.
import type { Knex } from 'knex';
import type { ConnectorId, ControllerUuid, LocationId, TenantUuid } from '../../../machines/values/ids.js';
import type { AlarmMuteRecord } from '../../ports/records.js';
import type { ChangeOf } from '../../ports/store.js';

interface MuteRow {
  readonly mute_id: string;
  readonly kind: AlarmMuteRecord['kind'];
  readonly location_id: LocationId;
  /** Empty for the whole location: a key has no null. */
  readonly controller_uuid: ControllerUuid | '';
  readonly connector_id: ConnectorId | '';
  readonly until_ms: number | string;
  readonly note: string | null;
  readonly muted_at_ms: number | string;
  readonly muted_by: string;
}

/** One by one, in order: people write them. */
export async function writeMutes(
  trx: Knex.Transaction,
  changes: readonly ChangeOf<'mute.put' | 'mute.end'>[],
): Promise<void> {
  for (const { kind, tenantUuid, mute } of changes) {
    const { muteId, locationId } = mute;
    if (kind === 'mute.end') {
      const held = { tenant_uuid: tenantUuid, location_id: locationId, mute_id: muteId };
      await trx('alarm_mutes').where(held).delete();
      continue;
    }
    await trx('alarm_mutes')
      .insert({
        tenant_uuid: tenantUuid,
        location_id: locationId,
        kind: mute.kind,
        controller_uuid: mute.controllerUuid ?? '',
        connector_id: mute.connectorId ?? '',
        mute_id: muteId,
        until_ms: mute.untilMs,
        note: mute.note,
        muted_at_ms: mute.mutedAtMs,
        muted_by: mute.mutedBy,
      })
      .onConflict(['tenant_uuid', 'location_id', 'kind', 'controller_uuid', 'connector_id'])
      .merge();
  }
}

export async function loadMutes(trx: Knex.Transaction, tenantUuid: TenantUuid): Promise<AlarmMuteRecord[]> {
  const rows: MuteRow[] = await trx('alarm_mutes')
    .where('tenant_uuid', tenantUuid)
    .orderBy(['muted_at_ms', 'mute_id']);
  return rows.map((row) => ({
    muteId: row.mute_id,
    kind: row.kind,
    locationId: row.location_id,
    controllerUuid: row.controller_uuid === '' ? null : row.controller_uuid,
    connectorId: row.connector_id === '' ? null : row.connector_id,
    untilMs: Number(row.until_ms),
    note: row.note,
    mutedAtMs: Number(row.muted_at_ms),
    mutedBy: row.muted_by,
  }));
}
