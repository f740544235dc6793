// Endpoint 1: creates or replaces a connector's profile; while its window is active the connector is locked.
import { spansOfProfile } from '../../../machines/limits/attainability.js';
import { statusOf } from '../../../machines/limits/profile-holder.js';
import { connectorKey, type TenantUuid } from '../../../machines/values/ids.js';
import { connectorProfilesOf, connectorStackOf } from '../../actors/entities.js';
import { toInstant } from '../../wire/instants.js';
import type { ConnectorSchedule, ProfileRequest } from '../../wire/rest.js';
import type { Core } from '../core.js';
import { type Advise, adviseOnLock } from '../look-ahead.js';
import { profileOf } from '../profile-view.js';
import { findConnector, requireActiveConnector } from '../targets.js';

export async function submitConnectorProfile(
  core: Core,
  tenantUuid: TenantUuid,
  controllerText: string,
  connectorText: string,
  request: ProfileRequest,
  advise: Advise,
): Promise<ConnectorSchedule> {
  const submittedAtMs = core.clock.nowMs();
  const profile = profileOf(request, submittedAtMs);
  const connector = findConnector(core.directory, tenantUuid, controllerText, connectorText);
  requireActiveConnector(connector);
  const { controllerUuid, connectorId } = connector.record;
  const target = { kind: 'connector', controllerUuid, connectorId } as const;
  await core.store.append(tenantUuid, [{ kind: 'profile.put', target, profile, atMs: submittedAtMs }]);
  const now = core.clock.nowMs();
  const event = { type: 'profile.submitted', profile, now } as const;
  const key = connectorKey(connector.record);
  const { location } = connector;
  const replaced = connectorStackOf(location, key).find(({ priority }) => priority === profile.priority);
  core.directory.sendToLocation(location, { type: 'connector.event', key, event });
  const spans = spansOfProfile(connectorStackOf(location, key), profile, replaced, now);
  adviseOnLock(core, connector, profile, { location, spans }, advise);
  return {
    controllerUuid,
    connectorId,
    limitKw: profile.limitKw,
    startTime: toInstant(profile.startsAtMs),
    endTime: toInstant(profile.endsAtMs),
    status: statusOf(connectorProfilesOf(location, key), profile),
  };
}
