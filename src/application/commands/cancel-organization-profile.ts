// Extension: cancels a recorded profile of the organization.
import type { TenantUuid } from '../../../machines/values/ids.js';
import { statusAt } from '../../../machines/values/time.js';
import type { CancelledOrganizationSchedule } from '../../wire/cancelled-profiles.js';
import { toInstant } from '../../wire/instants.js';
import type { Core } from '../core.js';
import { ORGANIZATION_NOTE } from '../organization-note.js';
import { viewOfProfile } from '../profile-view.js';
import { findHeldProfile, findTenant, requireUnended } from '../targets.js';

export async function cancelOrganizationProfile(
  core: Core,
  tenantUuid: TenantUuid,
  priority: number,
): Promise<CancelledOrganizationSchedule> {
  const atMs = core.clock.nowMs();
  const { organization } = findTenant(core.directory, tenantUuid);
  const target = { kind: 'organization' } as const;
  requireUnended(organization.actor.getSnapshot().context.stack, priority, atMs);
  await core.store.append(tenantUuid, [{ kind: 'profile.cancel', target, priority, atMs }]);
  const now = core.clock.nowMs();
  // The slot still holds the profile that the commit cancelled: commits are answered in the order of their making.
  const profile = findHeldProfile(organization.actor.getSnapshot().context.stack, priority);
  core.directory.sendToOrganization(organization, { type: 'profile.cancelled', priority, now });
  return {
    tenantUuid,
    ...viewOfProfile(profile, statusAt(profile, atMs)),
    note: ORGANIZATION_NOTE,
    supersededAt: toInstant(atMs),
  };
}
