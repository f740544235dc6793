// Extension: a location's limits as of any instant, from rows that are never deleted.
import { DomainError } from '../../../machines/errors.js';
import type { TenantUuid } from '../../../machines/ids.js';
import { EMPTY_STACK, effectiveLimitKwAt, putProfile } from '../../../machines/profile-stack.js';
import { statusAt } from '../../../machines/time.js';
import { fromInstant, type LocationLimits } from '../../wire/rest.js';
import type { Core } from '../core.js';
import { viewOfProfile } from '../profile-view.js';
import { findLocation } from '../targets.js';

/**
 * What the service knew at the instant: submitted by then and not replaced yet. Of a future instant, what is known now.
 * @throws DomainError LOCATION_NOT_FOUND, also where the location did not exist yet.
 */
export async function locationLimitsAt(
  core: Core,
  tenantUuid: TenantUuid,
  locationText: string,
  atText: string,
): Promise<LocationLimits> {
  const atMs = fromInstant(atText);
  const { locationId } = findLocation(core.directory, tenantUuid, locationText).record;
  const [limits, profiles] = await Promise.all([
    core.archive.permanentLimitHistory(tenantUuid, locationId),
    core.archive.profilesAt(tenantUuid, { kind: 'location', locationId }, atMs),
  ]);
  const permanentLimitKw = limits.findLast(({ setAtMs }) => setAtMs <= atMs)?.limitKw;
  if (permanentLimitKw === undefined)
    throw new DomainError('LOCATION_NOT_FOUND', `There was no location ${locationId} yet at ${atText}.`);
  // In the order of submission: should a clock have gone back, the later one holds the slot.
  const stack = profiles.reduce(
    (held, { priority, limitKw, startsAtMs, endsAtMs }) =>
      putProfile(held, { priority, limitKw, startsAtMs, endsAtMs }),
    EMPTY_STACK,
  );
  return {
    locationId,
    permanentLimitKw,
    effectiveLimitKw: effectiveLimitKwAt(stack, permanentLimitKw, atMs),
    profiles: stack.map((profile) => viewOfProfile(profile, statusAt(profile, atMs))),
  };
}
