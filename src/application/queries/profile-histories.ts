// All profiles ever submitted, by location, by connector and for the organization.
import type { TenantUuid } from '../../../machines/values/ids.js';
import { toInstant } from '../../wire/instants.js';
import type { ConnectorHistory, LocationHistory, OrganizationHistory } from '../../wire/operator-history.js';
import type { SpanPageQuery } from '../../wire/operator-queries.js';
import type { Core } from '../core.js';
import { findConnector, findLocation } from '../core.js';
import { ORGANIZATION_NOTE } from '../organization-note.js';
import { askedHistory, nextCursorOf, pageOfSubmissions, rowsOfPage, submissionOf } from '../past-profiles.js';

// Extension: every limit ever submitted for a location, and every permanent limit it had.
/** Submissions with a window that meets the span, in order of arrival. Rows are only added, so pages stay the same. */
export async function locationHistory(
  core: Core,
  tenantUuid: TenantUuid,
  locationText: string,
  query: SpanPageQuery,
): Promise<LocationHistory> {
  const asked = askedHistory(query);
  const { window, page } = asked;
  const { locationId } = findLocation(core.directory, tenantUuid, locationText).record;
  const [profiles, limits] = await Promise.all([
    core.archive.profileHistory(tenantUuid, { kind: 'location', locationId }, window, page),
    core.archive.permanentLimitHistory(tenantUuid, locationId, window, page),
  ]);
  return {
    locationId,
    from: toInstant(window.startsAtMs),
    to: toInstant(window.endsAtMs),
    submissions: rowsOfPage(asked, profiles).map(submissionOf),
    permanentLimits: rowsOfPage(asked, limits).map(({ limitKw, setAtMs }) => ({
      limitKw,
      setAt: toInstant(setAtMs),
    })),
    nextCursor: nextCursorOf(asked, profiles, limits),
  };
}

// Extension: every lock ever submitted for a connector.

/** Pages as in the history of a location. @throws DomainError CHARGER_NOT_FOUND */
export async function connectorHistory(
  core: Core,
  tenantUuid: TenantUuid,
  controllerText: string,
  connectorText: string,
  query: SpanPageQuery,
): Promise<ConnectorHistory> {
  const asked = askedHistory(query);
  const { record, location } = findConnector(core.directory, tenantUuid, controllerText, connectorText);
  const { controllerUuid, connectorId } = record;
  const target = { kind: 'connector', controllerUuid, connectorId } as const;
  const page = await pageOfSubmissions(core, tenantUuid, target, asked);
  return { controllerUuid, connectorId, locationId: location.record.locationId, ...page };
}

// Extension: every limit ever recorded for the organization.

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
