// Endpoint 5: records a profile of the whole organization, which is not enforced.

import { statusOf } from '../../../machines/limits/profile-holder.js';
import type { TenantUuid } from '../../../machines/values/ids.js';
import type { OrganizationSchedule, ProfileRequest } from '../../wire/rest.js';
import type { Core } from '../core.js';
import { ORGANIZATION_NOTE } from '../organization-note.js';
import { profileOf, viewOfProfile } from '../profile-view.js';
import { findTenant } from '../targets.js';

export async function submitOrganizationProfile(
  core: Core,
  tenantUuid: TenantUuid,
  request: ProfileRequest,
): Promise<OrganizationSchedule> {
  const submittedAtMs = core.clock.nowMs();
  const profile = profileOf(request, submittedAtMs);
  const { organization } = findTenant(core.directory, tenantUuid);
  const target = { kind: 'organization' } as const;
  await core.store.append(tenantUuid, [{ kind: 'profile.put', target, profile, atMs: submittedAtMs }]);
  const now = core.clock.nowMs();
  core.directory.sendToOrganization(organization, { type: 'profile.submitted', profile, now });
  return {
    tenantUuid,
    ...viewOfProfile(profile, statusOf(organization.actor.getSnapshot().context, profile)),
    note: ORGANIZATION_NOTE,
  };
}
