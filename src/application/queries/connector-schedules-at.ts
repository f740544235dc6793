// Extension: a connector's locks as of any instant, from rows that are never deleted.

import { activeProfileAt } from '../../../machines/limits/profile-stack.js';
import type { TenantUuid } from '../../../machines/values/ids.js';
import { fromInstant } from '../../wire/instants.js';
import type { ConnectorSchedules } from '../../wire/operator-locations.js';
import type { Core } from '../core.js';
import { stackAt, viewsAt } from '../past-profiles.js';
import { findConnector } from '../targets.js';

/** Before its first lock a connector had none, also before it was provisioned. @throws DomainError CHARGER_NOT_FOUND */
export async function connectorSchedulesAt(
  core: Core,
  tenantUuid: TenantUuid,
  controllerText: string,
  connectorText: string,
  atText: string,
): Promise<ConnectorSchedules> {
  const atMs = fromInstant(atText);
  const { record, location } = findConnector(core.directory, tenantUuid, controllerText, connectorText);
  const { controllerUuid, connectorId } = record;
  const stack = await stackAt(core, tenantUuid, { kind: 'connector', controllerUuid, connectorId }, atMs);
  return {
    controllerUuid,
    connectorId,
    locationId: location.record.locationId,
    lockLimitKw: activeProfileAt(stack, atMs)?.limitKw ?? null,
    profiles: viewsAt(stack, atMs),
  };
}
