// Extension: cancels a connector's profile at a priority. It unlocks the connector at once if no other profile locks
// it.
import { spansOfProfile } from '../../../machines/limits/attainability.js';
import { connectorKey, type TenantUuid } from '../../../machines/values/ids.js';
import { statusAt } from '../../../machines/values/time.js';
import { connectorStackOf } from '../../actors/entities.js';
import type { CancelledConnectorSchedule } from '../../wire/cancelled-profiles.js';
import { toInstant } from '../../wire/instants.js';
import type { Core } from '../core.js';
import { type Advise, adviseOn } from '../look-ahead.js';
import { viewOfProfile } from '../profile-view.js';
import { findConnector, findHeldProfile, requireActiveConnector, requireUnended } from '../targets.js';

export async function cancelConnectorProfile(
  core: Core,
  tenantUuid: TenantUuid,
  controllerText: string,
  connectorText: string,
  priority: number,
  advise: Advise,
): Promise<CancelledConnectorSchedule> {
  const atMs = core.clock.nowMs();
  const connector = findConnector(core.directory, tenantUuid, controllerText, connectorText);
  requireActiveConnector(connector);
  const { location } = connector;
  const { controllerUuid, connectorId } = connector.record;
  const key = connectorKey(connector.record);
  const target = { kind: 'connector', controllerUuid, connectorId } as const;
  requireUnended(connectorStackOf(location, key), priority, atMs);
  await core.store.append(tenantUuid, [{ kind: 'profile.cancel', target, priority, atMs }]);
  const now = core.clock.nowMs();
  // The slot still holds the profile that the commit cancelled: commits are answered in the order of their making.
  const profile = findHeldProfile(connectorStackOf(location, key), priority);
  const event = { type: 'profile.cancelled', priority, now } as const;
  core.directory.sendToLocation(location, { type: 'connector.event', key, event });
  const spans = spansOfProfile(connectorStackOf(location, key), profile, undefined, now);
  adviseOn(core, [{ location, spans }], advise);
  return {
    controllerUuid,
    connectorId,
    ...viewOfProfile(profile, statusAt(profile, atMs)),
    supersededAt: toInstant(atMs),
  };
}
