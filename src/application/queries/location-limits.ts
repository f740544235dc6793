// Endpoint 4: a location's own stack with every status as of now.
import type { TenantUuid } from '../../../machines/values/ids.js';
import { effectiveLimitKwOf } from '../../actors/entities.js';
import type { LocationLimits } from '../../wire/rest.js';
import type { Core } from '../core.js';
import { viewsOfProfiles } from '../profile-view.js';
import { findLocation } from '../targets.js';

/** Returns the same object until an event changes the answer. */
export function locationLimits(core: Core, tenantUuid: TenantUuid, locationText: string): LocationLimits {
  const location = findLocation(core.directory, tenantUuid, locationText);
  const { context } = location.actor.getSnapshot();
  location.limitsView ??= {
    locationId: location.record.locationId,
    permanentLimitKw: context.permanentLimitKw,
    effectiveLimitKw: effectiveLimitKwOf(location),
    profiles: viewsOfProfiles(context),
  };
  return location.limitsView;
}
