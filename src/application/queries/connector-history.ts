// Extension: every lock ever submitted for a connector.
import type { TenantUuid } from '../../../machines/values/ids.js';
import type { ConnectorHistory } from '../../wire/operator-history.js';
import type { SpanPageQuery } from '../../wire/operator-queries.js';
import type { Core } from '../core.js';
import { askedHistory, pageOfSubmissions } from '../past-profiles.js';
import { findConnector } from '../targets.js';

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
