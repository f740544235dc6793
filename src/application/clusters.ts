// Clusters: commands, queries, and the schedule for all members of a cluster.

import type { LimitProfile } from '../../machines/limits/profile-stack.js';
import { DomainError } from '../../machines/values/errors.js';
import type { ClusterId, LocationId, TenantUuid } from '../../machines/values/ids.js';
import type { EpochMs } from '../../machines/values/time.js';
import type { ClusterEntity, LocationEntity, Tenant } from '../actors/directory.js';
import type { ClusterRecord } from '../ports/records.js';
import type { Change } from '../ports/store.js';
import { errorEnvelope } from '../wire/error-envelope.js';
import { toInstant } from '../wire/instants.js';
import type {
  Cluster,
  ClusterDeleted,
  ClusterDetail,
  ClusterList,
  ClusterSchedule,
  CreateClusterRequest,
  ProfileRequest,
  UpdateClusterRequest,
} from '../wire/rest.js';
import { type Core, findCluster, findLocation, findTenant, requireActiveLocation } from './core.js';
import { type DrawnKw, drawnKwOf } from './location-live.js';
import { type Advise, adviseOn, adviseOnCluster } from './look-ahead.js';
import { applyLocationProfile, profileOf } from './profiles.js';

// Converts a cluster into the form of answers (contract section 2.8).
function viewOfCluster(tenantUuid: TenantUuid, record: ClusterRecord): Cluster {
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

// Endpoint 7: groups locations of the calling tenant under one optional cap.
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
function knownMembers(core: Core, tenantUuid: TenantUuid, texts: readonly string[]): LocationId[] {
  return [...new Set(texts.map((text) => findLocation(core.directory, tenantUuid, text).record.locationId))];
}

// Endpoint 10: changes the given fields of a cluster, and no others.
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

function emptyCluster(): DomainError {
  return new DomainError(
    'CLUSTER_EMPTY',
    'locationIds: a cluster always keeps at least one location; delete the cluster instead.',
  );
}

/** Writes the changed record, and applies it to the cluster and its members. */
async function writeCluster(core: Core, cluster: ClusterEntity, changed: ClusterRecord): Promise<Cluster> {
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

// Endpoint 11: deletes a cluster; its member locations stay as they are.
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

// Endpoint 12: removes one location from a cluster, atomically, and never the last.
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

// Endpoint 13: submits the same profile for every member location; each member succeeds or fails on its own.
export async function submitClusterProfile(
  core: Core,
  tenantUuid: TenantUuid,
  clusterId: string,
  request: ProfileRequest,
  requestId: string,
  advise: Advise,
): Promise<ClusterSchedule> {
  const profile = profileOf(request, core.clock.nowMs());
  return core.clusterQueue.run(`${tenantUuid}/${clusterId}`, async () => {
    const { record } = findCluster(core.directory, tenantUuid, clusterId);
    if (record.status === 'INACTIVE') {
      throw new DomainError('CLUSTER_INACTIVE', 'The cluster is not active; set its status to ACTIVE first.');
    }
    const members: LocationEntity[] = [];
    const errors: ClusterSchedule['errors'] = [];
    for (const locationId of record.locationIds) {
      try {
        const location = findLocation(core.directory, tenantUuid, locationId);
        requireActiveLocation(location);
        members.push(location);
      } catch (error) {
        if (!(error instanceof DomainError)) throw error;
        errors.push({ locationId, error: errorEnvelope(error.code, error.message, requestId) });
      }
    }
    // Instant of its turn in the queue: writes during its wait were submitted before it.
    const submittedAtMs = core.clock.nowMs();
    await core.store.append(
      tenantUuid,
      members.map((location) => profilePut(location, profile, submittedAtMs)),
    );
    const applied = core.directory.together(() =>
      members.map((location) => applyLocationProfile(core, location, profile)),
    );
    const outlooks = applied.map(({ outlook }) => outlook);
    adviseOn(core, outlooks, advise);
    return {
      clusterId,
      applied: applied.map(({ schedule }) => schedule),
      errors,
      totalLocations: record.locationIds.length,
    };
  });
}

function profilePut(location: LocationEntity, profile: LimitProfile, atMs: EpochMs): Change {
  const target = { kind: 'location', locationId: location.record.locationId } as const;
  return { kind: 'profile.put', target, profile, atMs };
}

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
