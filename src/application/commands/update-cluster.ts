// Endpoint 10: changes the given fields of a cluster, and no others.
import { DomainError } from '../../../machines/values/errors.js';
import type { TenantUuid } from '../../../machines/values/ids.js';
import type { ClusterEntity } from '../../actors/entities.js';
import type { ClusterRecord } from '../../ports/records.js';
import type { Cluster, UpdateClusterRequest } from '../../wire/rest.js';
import { viewOfCluster } from '../cluster-view.js';
import type { Core } from '../core.js';
import { type Advise, adviseOnCluster } from '../look-ahead.js';
import { findCluster } from '../targets.js';
import { knownMembers } from './create-cluster.js';

export async function updateCluster(
  core: Core,
  tenantUuid: TenantUuid,
  clusterId: string,
  request: UpdateClusterRequest,
  advise: Advise,
): Promise<Cluster> {
  return core.clusterQueue.run(`${tenantUuid}/${clusterId}`, async () => {
    const cluster = findCluster(core.directory, tenantUuid, clusterId);
    if (request.locationIds?.length === 0) throw emptyCluster();
    const { record } = cluster;
    const view = await writeCluster(core, cluster, {
      ...record,
      name: request.name ?? record.name,
      limitKw: request.limitKw === undefined ? record.limitKw : request.limitKw,
      status: request.status ?? record.status,
      locationIds:
        request.locationIds === undefined
          ? record.locationIds
          : knownMembers(core, tenantUuid, request.locationIds),
    });
    const { limitKw, status, locationIds } = request;
    const isSharedAnew = limitKw !== undefined || status !== undefined || locationIds !== undefined;
    const written = cluster.tenant.clusters.get(record.clusterId);
    if (isSharedAnew && written !== undefined) adviseOnCluster(core, written, advise);
    return view;
  });
}

export function emptyCluster(): DomainError {
  return new DomainError(
    'CLUSTER_EMPTY',
    'locationIds: a cluster always keeps at least one location; delete the cluster instead.',
  );
}

/** Writes the changed record, and applies it to the cluster and its members. */
export async function writeCluster(
  core: Core,
  cluster: ClusterEntity,
  changed: ClusterRecord,
): Promise<Cluster> {
  const { tenantUuid } = cluster.tenant;
  const record = { ...changed, updatedAtMs: Math.max(core.clock.nowMs(), changed.createdAtMs) };
  await core.store.append(tenantUuid, [{ kind: 'cluster.put', cluster: record }]);
  if (cluster.tenant.clusters.get(record.clusterId) === cluster) {
    cluster.record = record;
    core.directory.configureCluster(cluster);
  } else {
    // Rows that were read meanwhile did not contain the cluster. This write restores it, so its actor is built again.
    core.assembly.cluster(cluster.tenant, record);
  }
  return viewOfCluster(tenantUuid, record);
}
