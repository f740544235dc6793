// Clusters of locations under one optional cap: commands and queries.
import { DomainError } from '../../../machines/values/errors.js';
import type { ClusterId, LocationId, TenantUuid } from '../../../machines/values/ids.js';
import { type Core, findCluster, findLocation, findTenant } from '../../actors/core.js';
import { type ClusterEntity, type DrawnKw, drawnKwOf, type Tenant } from '../../actors/directory.js';
import { adviseOnCluster } from '../../actors/look-ahead.js';
import { endpoint } from '../../inbound/http/endpoint.js';
import type { ClusterRecord } from '../../ports/records.js';
import { entityTagOf, requireMatch } from '../../wire/entity-tags.js';
import { toInstant } from '../../wire/instants.js';
import {
  type Cluster,
  clusterDeletedSchema,
  clusterDetailSchema,
  clusterListSchema,
  clusterSchema,
  createClusterRequestSchema,
  updateClusterRequestSchema,
} from './contract.js';

export const createCluster = endpoint({
  operationId: 'createCluster',
  method: 'post',
  path: '/v1/clusters',
  tag: 'clusters',
  scope: 'clusters:write',
  summary: 'Group locations under one optional cap',
  status: 201,
  requestSchema: createClusterRequestSchema,
  responseSchema: clusterSchema,
  entityTagOf: entityTagOfCluster,
  mayWarn: true,
  errors: ['LOCATION_NOT_FOUND'],
  async handle(core, { tenantUuid, by, body, warn, keep }) {
    // One creation at a time: "newest first" needs instants of creation that all differ, after a restart too.
    return core.clusterQueue.run(`${tenantUuid}/new`, async () => {
      const tenant = findTenant(core.directory, tenantUuid);
      const createdAtMs = Math.max(core.clock.nowMs(), newestCreationMs(tenant) + 1);
      const record: ClusterRecord = {
        clusterId: core.newId() as ClusterId,
        name: body.name,
        locationIds: knownMembers(core, tenantUuid, body.locationIds),
        limitKw: body.limitKw ?? null,
        status: 'ACTIVE',
        createdAtMs,
        updatedAtMs: createdAtMs,
      };
      const kept = keep(() => viewOfCluster(tenantUuid, record));
      await core.store.append(tenantUuid, [{ kind: 'cluster.put', cluster: record }, ...kept], by);
      adviseOnCluster(core, core.assembly.cluster(tenant, record), warn);
      return viewOfCluster(tenantUuid, record);
    });
  },
});

function newestCreationMs(tenant: Tenant): number {
  let newestMs = 0;
  for (const { record } of tenant.clusters.values()) newestMs = Math.max(newestMs, record.createdAtMs);
  return newestMs;
}

/**
 * The named locations without repetition, in the given order.
 * @throws DomainError LOCATION_NOT_FOUND if one is not the tenant's
 */
function knownMembers(core: Core, tenantUuid: TenantUuid, texts: readonly string[]): LocationId[] {
  return [...new Set(texts.map((text) => findLocation(core.directory, tenantUuid, text).record.locationId))];
}

export const listClusters = endpoint({
  operationId: 'listClusters',
  method: 'get',
  path: '/v1/clusters',
  tag: 'clusters',
  scope: 'clusters:read',
  summary: 'List the clusters, newest first',
  responseSchema: clusterListSchema,
  errors: [],
  handle({ directory }, { tenantUuid }) {
    const records = [...findTenant(directory, tenantUuid).clusters.values()].map(({ record }) => record);
    // No two clusters were created at the same instant.
    const clusters = records
      .sort((a, b) => b.createdAtMs - a.createdAtMs)
      .map((record) => viewOfCluster(tenantUuid, record));
    return { clusters, count: clusters.length };
  },
});

/** With the draw and the shares of its members now. */
export const getCluster = endpoint({
  operationId: 'getCluster',
  method: 'get',
  path: '/v1/clusters/{clusterId}',
  tag: 'clusters',
  scope: 'clusters:read',
  summary: 'Read a cluster with its live status',
  responseSchema: clusterDetailSchema,
  entityTagOf: entityTagOfCluster,
  errors: ['CLUSTER_NOT_FOUND'],
  handle({ directory }, { tenantUuid, path }) {
    const { record, actor } = findCluster(directory, tenantUuid, path.clusterId);
    const { context } = actor.getSnapshot();
    const members = record.locationIds.map((locationId) => findLocation(directory, tenantUuid, locationId));
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
  },
});

/** Undefined, which leaves it out of the answer, if everything is measured. */
function estimatedTotalKwOf(drawn: readonly DrawnKw[]): number | undefined {
  const estimates = drawn.flatMap(({ estimatedKw }) => (estimatedKw === null ? [] : [estimatedKw]));
  if (estimates.length === 0) return undefined;
  return estimates.reduce((sum, estimatedKw) => sum + estimatedKw, 0);
}

export const updateCluster = endpoint({
  operationId: 'updateCluster',
  method: 'patch',
  path: '/v1/clusters/{clusterId}',
  tag: 'clusters',
  scope: 'clusters:write',
  summary: 'Change the supplied fields of a cluster',
  requestSchema: updateClusterRequestSchema,
  responseSchema: clusterSchema,
  entityTagOf: entityTagOfCluster,
  mayWarn: true,
  errors: ['CLUSTER_EMPTY', 'CLUSTER_NOT_FOUND', 'LOCATION_NOT_FOUND', 'PRECONDITION_FAILED'],
  async handle(core, { tenantUuid, by, path: { clusterId }, body, warn, ifMatch }) {
    return core.clusterQueue.run(`${tenantUuid}/${clusterId}`, async () => {
      const cluster = findUnchanged(core, tenantUuid, clusterId, ifMatch);
      if (body.locationIds?.length === 0) throw emptyCluster();
      const { record } = cluster;
      const changed: ClusterRecord = {
        ...record,
        name: body.name ?? record.name,
        limitKw: body.limitKw === undefined ? record.limitKw : body.limitKw,
        status: body.status ?? record.status,
        locationIds:
          body.locationIds === undefined
            ? record.locationIds
            : knownMembers(core, tenantUuid, body.locationIds),
      };
      const view = await writeCluster(core, cluster, changed, by);
      const { limitKw, status, locationIds } = body;
      const isSharedAnew = limitKw !== undefined || status !== undefined || locationIds !== undefined;
      const written = cluster.tenant.clusters.get(record.clusterId);
      if (isSharedAnew && written !== undefined) adviseOnCluster(core, written, warn);
      return view;
    });
  },
});

export const deleteCluster = endpoint({
  operationId: 'deleteCluster',
  method: 'delete',
  path: '/v1/clusters/{clusterId}',
  tag: 'clusters',
  scope: 'clusters:write',
  summary: 'Delete a cluster; its locations stay',
  responseSchema: clusterDeletedSchema,
  errors: ['CLUSTER_NOT_FOUND', 'PRECONDITION_FAILED'],
  async handle(core, { tenantUuid, by, path: { clusterId }, ifMatch }) {
    return core.clusterQueue.run(`${tenantUuid}/${clusterId}`, async () => {
      const cluster = findUnchanged(core, tenantUuid, clusterId, ifMatch);
      const atMs = core.clock.nowMs();
      const { clusterId: deleted } = cluster.record;
      await core.store.append(tenantUuid, [{ kind: 'cluster.delete', clusterId: deleted, atMs }], by);
      core.directory.dropCluster(cluster);
      return { deleted: true, clusterId };
    });
  },
});

export const removeClusterMember = endpoint({
  operationId: 'removeClusterMember',
  method: 'delete',
  path: '/v1/clusters/{clusterId}/locations/{locationId}',
  tag: 'clusters',
  scope: 'clusters:write',
  summary: 'Remove one location from a cluster',
  responseSchema: clusterSchema,
  entityTagOf: entityTagOfCluster,
  errors: ['CLUSTER_EMPTY', 'CLUSTER_NOT_FOUND', 'LOCATION_NOT_FOUND', 'PRECONDITION_FAILED'],
  async handle(core, { tenantUuid, by, path: { clusterId, locationId: removed }, ifMatch }) {
    return core.clusterQueue.run(`${tenantUuid}/${clusterId}`, async () => {
      const cluster = findUnchanged(core, tenantUuid, clusterId, ifMatch);
      const remaining = cluster.record.locationIds.filter((locationId) => locationId !== removed);
      if (remaining.length === cluster.record.locationIds.length) {
        throw new DomainError('LOCATION_NOT_FOUND', 'The location is not a member of the cluster.');
      }
      if (remaining.length === 0) throw emptyCluster();
      return writeCluster(core, cluster, { ...cluster.record, locationIds: remaining }, by);
    });
  },
});

/** @throws DomainError CLUSTER_NOT_FOUND, or PRECONDITION_FAILED if the cluster is not as `ifMatch` has it */
function findUnchanged(
  { directory }: Core,
  tenantUuid: TenantUuid,
  clusterId: string,
  ifMatch: string | undefined,
): ClusterEntity {
  const cluster = findCluster(directory, tenantUuid, clusterId);
  requireMatch(ifMatch, entityTagOfCluster(viewOfCluster(tenantUuid, cluster.record)), 'cluster');
  return cluster;
}

/** Live figures and the effective limits of the members change too often for a tag. */
function entityTagOfCluster({ clusterId, name, locationIds, limitKw, status, updatedAt }: Cluster): string {
  return entityTagOf(clusterId, name, locationIds, limitKw, status, updatedAt);
}

function emptyCluster(): DomainError {
  return new DomainError(
    'CLUSTER_EMPTY',
    'locationIds: a cluster always keeps at least one location; delete the cluster instead.',
  );
}

/** Writes the changed record, and applies it to the cluster and its members. */
async function writeCluster(
  core: Core,
  cluster: ClusterEntity,
  changed: ClusterRecord,
  by: string,
): Promise<Cluster> {
  const { tenantUuid } = cluster.tenant;
  const record = { ...changed, updatedAtMs: Math.max(core.clock.nowMs(), changed.createdAtMs) };
  await core.store.append(tenantUuid, [{ kind: 'cluster.put', cluster: record }], by);
  if (cluster.tenant.clusters.get(record.clusterId) === cluster) {
    cluster.record = record;
    core.directory.configureCluster(cluster);
  } else {
    // Rows that were read meanwhile did not contain the cluster. This write restores it, so its actor is built again.
    core.assembly.cluster(cluster.tenant, record);
  }
  return viewOfCluster(tenantUuid, record);
}

/** Contract section 2.8. */
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
