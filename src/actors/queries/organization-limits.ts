// Endpoint 6: the organization's recorded profiles.
import type { TenantUuid } from '../../../machines/ids.js';
import type { OrganizationLimits } from '../../wire/rest.js';
import type { Core } from '../core.js';
import { ORGANIZATION_NOTE } from '../organization-note.js';
import { viewOfProfile } from '../profile-view.js';
import { findTenant } from '../targets.js';

export function organizationLimits(core: Core, tenantUuid: TenantUuid): OrganizationLimits {
  const now = core.clock.nowMs();
  const { stack } = findTenant(core.directory, tenantUuid).organization.actor.getSnapshot().context;
  return {
    tenantUuid,
    profiles: stack.map((profile) => viewOfProfile(profile, now)),
    note: ORGANIZATION_NOTE,
  };
}
