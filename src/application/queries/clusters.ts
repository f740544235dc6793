// Clusters, and one cluster with its members.
import type { TenantUuid } from '../../../machines/values/ids.js';
import type { ClusterDetail, ClusterList } from '../../wire/rest.js';
import { viewOfCluster } from '../cluster-view.js';
import type { Core } from '../core.js';
import { findCluster, findLocation, findTenant } from '../core.js';
import { type DrawnKw, drawnKwOf } from '../drawn-power.js';

// Endpoint 8: the calling tenant's clusters, newest first.
export function listClusters(core: Core, tenantUuid: TenantUuid): ClusterList {
  const records = [...findTenant(core.directory, tenantUuid).clusters.values()].map(({ record }) => record);
  // No two clusters were created at the same instant.
  const clusters = records
    .sort((a, b) => b.createdAtMs - a.createdAtMs)
    .map((record) => viewOfCluster(tenantUuid, record));
  return { clusters, count: clusters.length };
}

// Endpoint 9: a cluster with the draw and the shares of its members now.
export function clusterDetail(core: Core, tenantUuid: TenantUuid, clusterId: string): ClusterDetail {
  const { record, actor } = findCluster(core.directory, tenantUuid, clusterId);
  const { context } = actor.getSnapshot();
  const members = record.locationIds.map((locationId) =>
    findLocation(core.directory, tenantUuid, locationId),
  );
  const setLimits = members.map((location) => location.actor.getSnapshot().context.limit.effectiveLimitKw);
  const sumLocationLimits = setLimits.reduce((sum, limitKw) => sum + limitKw, 0);
  const drawn = members.map(drawnKwOf);
  const actualTotalKw = drawn.reduce((sum, { actualKw }) => sum + actualKw, 0);
  return {
    ...viewOfCluster(tenantUuid, record),
    liveStatus: {
      actualTotalKw,
      estimatedTotalKw: estimatedTotalKwOf(drawn),
      clusterLimitKw: record.limitKw,
      // Limits are finite, their sum need not be, and JSON has no infinity.
      sumLocationLimits: Math.min(sumLocationLimits, Number.MAX_VALUE),
      withinLimit: record.limitKw === null || actualTotalKw <= record.limitKw,
      locations: members.map(({ record: { locationId } }, i) => ({
        locationId,
        setLimitKw: setLimits[i] ?? 0,
        effectiveLimitKw: (setLimits[i] ?? 0) * context.scale,
        actualKw: drawn[i]?.actualKw ?? 0,
        estimatedKw: drawn[i]?.estimatedKw ?? undefined,
      })),
    },
  };
}

/** Undefined, which leaves it out of the answer, if everything is measured. */
function estimatedTotalKwOf(drawn: readonly DrawnKw[]): number | undefined {
  const estimates = drawn.flatMap(({ estimatedKw }) => (estimatedKw === null ? [] : [estimatedKw]));
  if (estimates.length === 0) return undefined;
  return estimates.reduce((sum, estimatedKw) => sum + estimatedKw, 0);
}
