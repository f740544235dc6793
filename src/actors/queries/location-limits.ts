// Endpoint 4: a location's own stack with every status as of now.
import type { TenantUuid } from '../../../machines/ids.js';
import { nextBoundaryAfter } from '../../../machines/profile-stack.js';
import type { LocationLimits } from '../../wire/rest.js';
import type { Core } from '../core.js';
import { effectiveLimitKwOf } from '../entities.js';
import { viewOfProfile } from '../profile-view.js';
import { findLocation } from '../targets.js';

/** The same object is given until an event or a boundary changes the answer. */
export function locationLimits(core: Core, tenantUuid: TenantUuid, locationText: string): LocationLimits {
  const location = findLocation(core.directory, tenantUuid, locationText);
  const now = core.clock.nowMs();
  const held = location.limitsView;
  if (held !== undefined && held.fromMs <= now && now < held.untilMs) return held.view;
  const { stack, permanentLimitKw } = location.actor.getSnapshot().context;
  const view: LocationLimits = {
    locationId: location.record.locationId,
    permanentLimitKw,
    effectiveLimitKw: effectiveLimitKwOf(location, now),
    profiles: stack.map((profile) => viewOfProfile(profile, now)),
  };
  location.limitsView = {
    view,
    fromMs: now,
    untilMs: nextBoundaryAfter(stack, now) ?? Number.POSITIVE_INFINITY,
  };
  return view;
}
