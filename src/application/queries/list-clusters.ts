// Endpoint 8: the calling tenant's clusters, newest first.
import type { TenantUuid } from '../../../machines/values/ids.js';
import type { ClusterList } from '../../wire/rest.js';
import { viewOfCluster } from '../cluster-view.js';
import type { Core } from '../core.js';
import { findTenant } from '../targets.js';

export function listClusters(core: Core, tenantUuid: TenantUuid): ClusterList {
  const records = [...findTenant(core.directory, tenantUuid).clusters.values()].map(({ record }) => record);
  // No two clusters were created at the same instant.
  const clusters = records
    .sort((a, b) => b.createdAtMs - a.createdAtMs)
    .map((record) => viewOfCluster(tenantUuid, record));
  return { clusters, count: clusters.length };
}
