// Profiles of locations, connectors and the organization, now and as of a past instant.

import { activeProfileAt, effectiveLimitKwAt } from '../../../machines/limits/profile-stack.js';
import { DomainError } from '../../../machines/values/errors.js';
import { connectorKey, type TenantUuid } from '../../../machines/values/ids.js';
import { connectorActorOf, effectiveLimitKwOf } from '../../actors/directory.js';
import { fromInstant } from '../../wire/instants.js';
import type { ConnectorSchedules } from '../../wire/operator-locations.js';
import type { LocationLimits, OrganizationLimits } from '../../wire/rest.js';
import type { Core } from '../core.js';
import { findConnector, findLocation, findTenant } from '../core.js';
import { ORGANIZATION_NOTE } from '../organization-note.js';
import { stackAt, viewsAt } from '../past-profiles.js';
import { viewsOfProfiles } from '../profile-view.js';

// Endpoint 4: a location's own stack with every status as of now.
/** Returns the same object until an event changes the answer. */
export function locationLimits(core: Core, tenantUuid: TenantUuid, locationText: string): LocationLimits {
  const location = findLocation(core.directory, tenantUuid, locationText);
  const { context } = location.actor.getSnapshot();
  location.limitsView ??= {
    locationId: location.record.locationId,
    permanentLimitKw: context.permanentLimitKw,
    effectiveLimitKw: effectiveLimitKwOf(location),
    profiles: viewsOfProfiles(context),
  };
  return location.limitsView;
}

// Extension: a location's limits as of any instant, from rows that are never deleted.

/** @throws DomainError LOCATION_NOT_FOUND, also if the location did not exist yet. */
export async function locationLimitsAt(
  core: Core,
  tenantUuid: TenantUuid,
  locationText: string,
  atText: string,
): Promise<LocationLimits> {
  const atMs = fromInstant(atText);
  const { locationId } = findLocation(core.directory, tenantUuid, locationText).record;
  const [limits, stack] = await Promise.all([
    core.archive.permanentLimitHistory(tenantUuid, locationId),
    stackAt(core, tenantUuid, { kind: 'location', locationId }, atMs),
  ]);
  const permanentLimitKw = limits.findLast(({ setAtMs }) => setAtMs <= atMs)?.limitKw;
  if (permanentLimitKw === undefined)
    throw new DomainError('LOCATION_NOT_FOUND', `Location ${locationId} did not exist at ${atText}.`);
  return {
    locationId,
    permanentLimitKw,
    effectiveLimitKw: effectiveLimitKwAt(stack, permanentLimitKw, atMs),
    profiles: viewsAt(stack, atMs),
  };
}

// Extension: a connector's own stack with every status as of now.
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

// Extension: a connector's locks as of any instant, from rows that are never deleted.

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

// Endpoint 6: the organization's recorded profiles.
export function organizationLimits(core: Core, tenantUuid: TenantUuid): OrganizationLimits {
  const { organization } = findTenant(core.directory, tenantUuid);
  core.directory.catchUp([organization]);
  return {
    tenantUuid,
    profiles: viewsOfProfiles(organization.actor.getSnapshot().context),
    note: ORGANIZATION_NOTE,
  };
}

// Extension: the organization's recorded limits as of any instant, from rows that are never deleted.
export async function organizationLimitsAt(
  core: Core,
  tenantUuid: TenantUuid,
  atText: string,
): Promise<OrganizationLimits> {
  const atMs = fromInstant(atText);
  const stack = await stackAt(core, tenantUuid, { kind: 'organization' }, atMs);
  return { tenantUuid, profiles: viewsAt(stack, atMs), note: ORGANIZATION_NOTE };
}
