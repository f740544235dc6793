// Extension: a connector's own stack with every status as of now.
import { connectorKey, type TenantUuid } from '../../../machines/values/ids.js';
import { connectorActorOf } from '../../actors/entities.js';
import type { ConnectorSchedules } from '../../wire/operator-locations.js';
import type { Core } from '../core.js';
import { viewsOfProfiles } from '../profile-view.js';
import { findConnector } from '../targets.js';

export function connectorSchedules(
  core: Core,
  tenantUuid: TenantUuid,
  controllerText: string,
  connectorText: string,
): ConnectorSchedules {
  const { record, location } = findConnector(core.directory, tenantUuid, controllerText, connectorText);
  const actor = connectorActorOf(location, connectorKey(record));
  return {
    controllerUuid: record.controllerUuid,
    connectorId: record.connectorId,
    locationId: location.record.locationId,
    lockLimitKw: actor?.getSnapshot().context.lockLimitKw ?? null,
    profiles: actor === undefined ? [] : viewsOfProfiles(actor.getSnapshot().context),
  };
}
