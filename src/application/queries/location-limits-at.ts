// Extension: a location's limits as of any instant, from rows that are never deleted.

import { effectiveLimitKwAt } from '../../../machines/limits/profile-stack.js';
import { DomainError } from '../../../machines/values/errors.js';
import type { TenantUuid } from '../../../machines/values/ids.js';
import { fromInstant } from '../../wire/instants.js';
import type { LocationLimits } from '../../wire/rest.js';
import type { Core } from '../core.js';
import { stackAt, viewsAt } from '../past-profiles.js';
import { findLocation } from '../targets.js';

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
    throw new DomainError('LOCATION_NOT_FOUND', `There was no location ${locationId} yet at ${atText}.`);
  return {
    locationId,
    permanentLimitKw,
    effectiveLimitKw: effectiveLimitKwAt(stack, permanentLimitKw, atMs),
    profiles: viewsAt(stack, atMs),
  };
}
