// Endpoint 12: removes one location from a cluster, atomically, and never the last.
import { DomainError } from '../../../machines/values/errors.js';
import type { TenantUuid } from '../../../machines/values/ids.js';
import type { Cluster } from '../../wire/rest.js';
import type { Core } from '../core.js';
import { findCluster } from '../targets.js';
import { emptyCluster, writeCluster } from './update-cluster.js';

export async function removeClusterMember(
  core: Core,
  tenantUuid: TenantUuid,
  clusterId: string,
  locationText: string,
): Promise<Cluster> {
  return core.clusterQueue.run(`${tenantUuid}/${clusterId}`, async () => {
    const cluster = findCluster(core.directory, tenantUuid, clusterId);
    const remaining = cluster.record.locationIds.filter((locationId) => locationId !== locationText);
    if (remaining.length === cluster.record.locationIds.length) {
      throw new DomainError('LOCATION_NOT_FOUND', 'The location is not a member of the cluster.');
    }
    if (remaining.length === 0) throw emptyCluster();
    return writeCluster(core, cluster, { ...cluster.record, locationIds: remaining });
  });
}
