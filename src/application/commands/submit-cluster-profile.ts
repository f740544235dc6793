// Endpoint 13: submits the same profile for every member location; each member succeeds or fails on its own.

import type { LimitProfile } from '../../../machines/limits/profile-stack.js';
import { DomainError } from '../../../machines/values/errors.js';
import type { TenantUuid } from '../../../machines/values/ids.js';
import type { EpochMs } from '../../../machines/values/time.js';
import type { LocationEntity } from '../../actors/entities.js';
import type { Change } from '../../ports/store.js';
import type { ClusterSchedule } from '../../wire/cluster-schedule.js';
import { errorEnvelope } from '../../wire/error-envelope.js';
import type { ProfileRequest } from '../../wire/rest.js';
import type { Core } from '../core.js';
import { type Advise, adviseOn } from '../look-ahead.js';
import { profileOf } from '../profile-view.js';
import { findCluster, findLocation, requireActiveLocation } from '../targets.js';
import { applyLocationProfile } from './submit-location-profile.js';

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
