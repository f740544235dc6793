// Extension: the organization's recorded limits as of any instant, from rows that are never deleted.
import type { TenantUuid } from '../../../machines/values/ids.js';
import { fromInstant } from '../../wire/instants.js';
import type { OrganizationLimits } from '../../wire/rest.js';
import type { Core } from '../core.js';
import { ORGANIZATION_NOTE } from '../organization-note.js';
import { stackAt, viewsAt } from '../past-profiles.js';

export async function organizationLimitsAt(
  core: Core,
  tenantUuid: TenantUuid,
  atText: string,
): Promise<OrganizationLimits> {
  const atMs = fromInstant(atText);
  const stack = await stackAt(core, tenantUuid, { kind: 'organization' }, atMs);
  return { tenantUuid, profiles: viewsAt(stack, atMs), note: ORGANIZATION_NOTE };
}
