// Extension: a connector's own stack with every status as of now.
import { connectorKey, type TenantUuid } from '../../../machines/ids.js';
import { activeProfileAt } from '../../../machines/profile-stack.js';
import type { ConnectorSchedules } from '../../wire/operator-locations.js';
import { connectorStackOf } from '../connector-stack.js';
import type { Core } from '../core.js';
import { viewOfProfile } from '../profile-view.js';
import { findConnector } from '../targets.js';

export function connectorSchedules(
  core: Core,
  tenantUuid: TenantUuid,
  controllerText: string,
  connectorText: string,
): ConnectorSchedules {
  const { record, location } = findConnector(core.directory, tenantUuid, controllerText, connectorText);
  const now = core.clock.nowMs();
  const stack = connectorStackOf(location, connectorKey(record));
  return {
    controllerUuid: record.controllerUuid,
    connectorId: record.connectorId,
    locationId: location.record.locationId,
    lockLimitKw: activeProfileAt(stack, now)?.limitKw ?? null,
    profiles: stack.map((profile) => viewOfProfile(profile, now)),
  };
}
