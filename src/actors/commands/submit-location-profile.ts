// Endpoint 2: creates or replaces a location's profile at its priority.
import type { TenantUuid } from '../../../machines/ids.js';
import type { LimitProfile } from '../../../machines/profile-stack.js';
import type { LocationSchedule, ProfileRequest } from '../../wire/rest.js';
import type { Core } from '../core.js';
import { effectiveLimitKwOf, type LocationEntity } from '../entities.js';
import { profileOf, viewOfProfile } from '../profile-view.js';
import { findLocation, requireActiveLocation } from '../targets.js';

export async function submitLocationProfile(
  core: Core,
  tenantUuid: TenantUuid,
  locationText: string,
  request: ProfileRequest,
): Promise<LocationSchedule> {
  const now = core.clock.nowMs();
  const profile = profileOf(request, now);
  const location = findLocation(core.directory, tenantUuid, locationText);
  requireActiveLocation(location);
  const target = { kind: 'location', locationId: location.record.locationId } as const;
  await core.store.append(tenantUuid, [{ kind: 'profile.put', target, profile, atMs: now }]);
  return applyLocationProfile(core, location, profile);
}

/** Hands a profile that is on disk to its location, and answers with what follows. */
export function applyLocationProfile(
  core: Core,
  location: LocationEntity,
  profile: LimitProfile,
): LocationSchedule {
  const now = core.clock.nowMs();
  core.directory.tellLocation(location, { type: 'profile.submitted', profile, now });
  return {
    locationId: location.record.locationId,
    ...viewOfProfile(profile, now),
    permanentLimitKw: location.actor.getSnapshot().context.permanentLimitKw,
    effectiveLimitKw: effectiveLimitKwOf(location, now),
  };
}
