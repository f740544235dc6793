// Endpoint 11: deletes a cluster; its member locations stay as they are.
import type { TenantUuid } from '../../../machines/values/ids.js';
import type { ClusterDeleted } from '../../wire/rest.js';
import type { Core } from '../core.js';
import { findCluster } from '../targets.js';

export async function deleteCluster(
  core: Core,
  tenantUuid: TenantUuid,
  clusterId: string,
): Promise<ClusterDeleted> {
  return core.clusterQueue.run(`${tenantUuid}/${clusterId}`, async () => {
    const cluster = findCluster(core.directory, tenantUuid, clusterId);
    await core.store.append(tenantUuid, [{ kind: 'cluster.delete', clusterId: cluster.record.clusterId }]);
    core.directory.dropCluster(cluster);
    return { deleted: true, clusterId };
  });
}
