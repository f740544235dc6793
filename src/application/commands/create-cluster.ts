// Endpoint 7: groups locations of the calling tenant under one optional cap.
import type { ClusterId, LocationId, TenantUuid } from '../../../machines/values/ids.js';
import type { Tenant } from '../../actors/entities.js';
import type { ClusterRecord } from '../../ports/records.js';
import type { Cluster, CreateClusterRequest } from '../../wire/rest.js';
import { viewOfCluster } from '../cluster-view.js';
import type { Core } from '../core.js';
import { type Advise, adviseOnCluster } from '../look-ahead.js';
import { findLocation, findTenant } from '../targets.js';

export async function createCluster(
  core: Core,
  tenantUuid: TenantUuid,
  request: CreateClusterRequest,
  advise: Advise,
): Promise<Cluster> {
  // One creation at a time: "newest first" needs instants of creation that all differ, after a restart too.
  return core.clusterQueue.run(`${tenantUuid}/new`, async () => {
    const tenant = findTenant(core.directory, tenantUuid);
    const createdAtMs = Math.max(core.clock.nowMs(), newestCreationMs(tenant) + 1);
    const record: ClusterRecord = {
      clusterId: core.newId() as ClusterId,
      name: request.name,
      locationIds: knownMembers(core, tenantUuid, request.locationIds),
      limitKw: request.limitKw ?? null,
      status: 'ACTIVE',
      createdAtMs,
      updatedAtMs: createdAtMs,
    };
    await core.store.append(tenantUuid, [{ kind: 'cluster.put', cluster: record }]);
    adviseOnCluster(core, core.assembly.cluster(tenant, record), advise);
    return viewOfCluster(tenantUuid, record);
  });
}

function newestCreationMs(tenant: Tenant): number {
  let newestMs = 0;
  for (const { record } of tenant.clusters.values()) newestMs = Math.max(newestMs, record.createdAtMs);
  return newestMs;
}

/**
 * The named locations without repetition, in the given order.
 * @throws DomainError LOCATION_NOT_FOUND if one is not the tenant's
 */
export function knownMembers(core: Core, tenantUuid: TenantUuid, texts: readonly string[]): LocationId[] {
  return [...new Set(texts.map((text) => findLocation(core.directory, tenantUuid, text).record.locationId))];
}
