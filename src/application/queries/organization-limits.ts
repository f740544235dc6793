// Endpoint 6: the organization's recorded profiles.
import type { TenantUuid } from '../../../machines/values/ids.js';
import type { OrganizationLimits } from '../../wire/rest.js';
import type { Core } from '../core.js';
import { ORGANIZATION_NOTE } from '../organization-note.js';
import { viewsOfProfiles } from '../profile-view.js';
import { findTenant } from '../targets.js';

export function organizationLimits(core: Core, tenantUuid: TenantUuid): OrganizationLimits {
  const { organization } = findTenant(core.directory, tenantUuid);
  core.directory.catchUp([organization]);
  return {
    tenantUuid,
    profiles: viewsOfProfiles(organization.actor.getSnapshot().context),
    note: ORGANIZATION_NOTE,
  };
}
