// Extension: cancels a location's profile at a priority; an active one is rolled back at once.
import { spansOfProfile } from '../../../machines/limits/attainability.js';
import type { TenantUuid } from '../../../machines/values/ids.js';
import { statusAt } from '../../../machines/values/time.js';
import { effectiveLimitKwOf } from '../../actors/entities.js';
import type { CancelledLocationSchedule } from '../../wire/cancelled-profiles.js';
import { toInstant } from '../../wire/instants.js';
import type { Core } from '../core.js';
import { type Advise, adviseOn } from '../look-ahead.js';
import { viewOfProfile } from '../profile-view.js';
import { findHeldProfile, findLocation, requireActiveLocation, requireUnended } from '../targets.js';

export async function cancelLocationProfile(
  core: Core,
  tenantUuid: TenantUuid,
  locationText: string,
  priority: number,
  advise: Advise,
): Promise<CancelledLocationSchedule> {
  const atMs = core.clock.nowMs();
  const location = findLocation(core.directory, tenantUuid, locationText);
  requireActiveLocation(location);
  const { locationId } = location.record;
  const target = { kind: 'location', locationId } as const;
  requireUnended(location.actor.getSnapshot().context.stack, priority, atMs);
  await core.store.append(tenantUuid, [{ kind: 'profile.cancel', target, priority, atMs }]);
  const now = core.clock.nowMs();
  // The slot still holds the profile that the commit cancelled: commits are answered in the order of their making.
  const profile = findHeldProfile(location.actor.getSnapshot().context.stack, priority);
  core.directory.sendToLocation(location, { type: 'profile.cancelled', priority, now });
  const { stack, permanentLimitKw } = location.actor.getSnapshot().context;
  adviseOn(core, [{ location, spans: spansOfProfile(stack, profile, undefined, now) }], advise);
  return {
    locationId,
    ...viewOfProfile(profile, statusAt(profile, atMs)),
    permanentLimitKw,
    effectiveLimitKw: effectiveLimitKwOf(location),
    supersededAt: toInstant(atMs),
  };
}
