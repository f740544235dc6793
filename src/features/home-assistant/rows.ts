// Readers of locations.
import type { Knex } from 'knex';
import type { LocationId } from '../../../machines/values/ids.js';
import { type Columns, type KeyedTable, provisionOfLocations } from '../../outbound/knex/json-rows.js';
import type { ProvisionedTenant, ProvisioningAction } from '../../ports/administration.js';

const READERS = {
  name: 'readers',
  key: ['tenant_uuid', 'location_id'],
  columns: { tenant_uuid: 'text', location_id: 'text', reader_uuid: 'text', mqtt_secret_hash: 'text' },
} as const satisfies KeyedTable<Columns>;

/** The file decides: a reader that it no longer names is removed. */
export function provisionReaders(
  trx: Knex.Transaction,
  tenant: ProvisionedTenant,
): Promise<ReadonlyMap<LocationId, ProvisioningAction>> {
  return provisionOfLocations(trx, READERS, {
    kind: 'reader',
    idColumn: 'reader_uuid',
    tenant,
    rowOf: ({ locationId, reader }, storedHash) =>
      reader == null
        ? null
        : {
            tenant_uuid: tenant.tenantUuid,
            location_id: locationId,
            reader_uuid: reader.readerUuid,
            mqtt_secret_hash: reader.mqttSecretHash ?? storedHash,
          },
  });
}
