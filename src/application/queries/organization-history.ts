// Extension: every limit ever recorded for the organization.
import type { TenantUuid } from '../../../machines/values/ids.js';
import type { OrganizationHistory } from '../../wire/operator-history.js';
import type { SpanPageQuery } from '../../wire/operator-queries.js';
import type { Core } from '../core.js';
import { ORGANIZATION_NOTE } from '../organization-note.js';
import { askedHistory, pageOfSubmissions } from '../past-profiles.js';

/** Pages as in the history of a location. */
export async function organizationHistory(
  core: Core,
  tenantUuid: TenantUuid,
  query: SpanPageQuery,
): Promise<OrganizationHistory> {
  const asked = askedHistory(query);
  const page = await pageOfSubmissions(core, tenantUuid, { kind: 'organization' }, asked);
  return { tenantUuid, ...page, note: ORGANIZATION_NOTE };
}
