// Converts a cluster into the form of answers (contract section 2.8).
import type { TenantUuid } from '../../machines/values/ids.js';
import type { ClusterRecord } from '../ports/records.js';
import { toInstant } from '../wire/instants.js';
import type { Cluster } from '../wire/rest.js';

export function viewOfCluster(tenantUuid: TenantUuid, record: ClusterRecord): Cluster {
  return {
    clusterId: record.clusterId,
    tenantUuid,
    name: record.name,
    locationIds: [...record.locationIds],
    limitKw: record.limitKw,
    status: record.status,
    createdAt: toInstant(record.createdAtMs),
    updatedAt: toInstant(record.updatedAtMs),
  };
}
