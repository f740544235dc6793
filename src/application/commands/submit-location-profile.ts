// Endpoint 2: creates or replaces a location's profile at its priority.
import { spansOfProfile } from '../../../machines/limits/attainability.js';
import { statusOf } from '../../../machines/limits/profile-holder.js';
import type { LimitProfile } from '../../../machines/limits/profile-stack.js';
import type { TenantUuid } from '../../../machines/values/ids.js';
import { effectiveLimitKwOf, type LocationEntity } from '../../actors/entities.js';
import type { LocationSchedule, ProfileRequest } from '../../wire/rest.js';
import type { Core } from '../core.js';
import { type Advise, adviseOn, type Outlook } from '../look-ahead.js';
import { profileOf, viewOfProfile } from '../profile-view.js';
import { findLocation, requireActiveLocation } from '../targets.js';

export async function submitLocationProfile(
  core: Core,
  tenantUuid: TenantUuid,
  locationText: string,
  request: ProfileRequest,
  advise: Advise,
): Promise<LocationSchedule> {
  const now = core.clock.nowMs();
  const profile = profileOf(request, now);
  const location = findLocation(core.directory, tenantUuid, locationText);
  requireActiveLocation(location);
  const target = { kind: 'location', locationId: location.record.locationId } as const;
  await core.store.append(tenantUuid, [{ kind: 'profile.put', target, profile, atMs: now }]);
  const { schedule, outlook } = applyLocationProfile(core, location, profile);
  adviseOn(core, [outlook], advise);
  return schedule;
}

/** Passes a profile that is on disk to its location. @returns the answer, and the spans for the preview */
export function applyLocationProfile(
  core: Core,
  location: LocationEntity,
  profile: LimitProfile,
): { readonly schedule: LocationSchedule; readonly outlook: Outlook } {
  const now = core.clock.nowMs();
  const before = location.actor.getSnapshot().context.stack;
  const replaced = before.find(({ priority }) => priority === profile.priority);
  core.directory.sendToLocation(location, { type: 'profile.submitted', profile, now });
  const { context } = location.actor.getSnapshot();
  const { stack, permanentLimitKw } = context;
  const schedule = {
    locationId: location.record.locationId,
    ...viewOfProfile(profile, statusOf(context, profile)),
    permanentLimitKw,
    effectiveLimitKw: effectiveLimitKwOf(location),
  };
  return { schedule, outlook: { location, spans: spansOfProfile(stack, profile, replaced, now) } };
}
