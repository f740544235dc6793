// Extension: the tenant's locations with their main figures, page by page in the natural order of their ids; or one
// alone.
import { isId, type TenantUuid } from '../../machines/values/ids.js';
import { compareNaturally } from '../../machines/values/natural-order.js';
import type { LocationEntity } from '../actors/directory.js';
import type { LocationList, LocationSummary } from '../wire/operator-locations.js';
import type { PageQuery } from '../wire/operator-queries.js';
import type { Core } from './core.js';
import { findLocation, findTenant } from './core.js';
import { drawnKwOf } from './location-live.js';
import { unknownCursor } from './query-spans.js';

/** The cursor is the last id of the page before, so that a location added meanwhile moves no other. */
export function listLocations(
  core: Core,
  tenantUuid: TenantUuid,
  { limit, cursor = '' }: PageQuery,
): LocationList {
  if (cursor !== '' && !isId(cursor)) throw unknownCursor();
  const { locations } = findTenant(core.directory, tenantUuid);
  const ids = [...locations.keys()]
    .filter((locationId) => compareNaturally(locationId, cursor) > 0)
    .sort(compareNaturally);
  const page = ids.slice(0, limit);
  core.directory.catchUp(locations.values());
  return {
    locations: page.flatMap((locationId) => {
      const location = locations.get(locationId);
      if (location === undefined) return [];
      core.expireReadings(location);
      return [summaryOf(location)];
    }),
    count: locations.size,
    nextCursor: ids.length > limit ? (page.at(-1) ?? null) : null,
  };
}

/** The location in the form of the list. @throws DomainError LOCATION_NOT_FOUND */
export function locationSummary(core: Core, tenantUuid: TenantUuid, locationText: string): LocationSummary {
  const location = findLocation(core.directory, tenantUuid, locationText);
  core.expireReadings(location);
  return summaryOf(location);
}

function summaryOf(location: LocationEntity): LocationSummary {
  const { record, connectors, alarms } = location;
  const { context } = location.actor.getSnapshot();
  let [lockedConnectors, silentConnectors] = [0, 0];
  for (const connector of context.connectors.values()) {
    const { lock, link } = connector.getSnapshot().value;
    if (lock === 'locked') lockedConnectors++;
    if (link !== 'online') silentConnectors++;
  }
  return {
    locationId: record.locationId,
    name: record.name,
    status: record.status,
    permanentLimitKw: context.permanentLimitKw,
    effectiveLimitKw: context.limit.effectiveLimitKw,
    gridLimitKw: context.limit.limitKw,
    ...drawnKwOf(location),
    connectors: connectors.size,
    silentConnectors,
    lockedConnectors,
    openAlarms: alarms.size,
  };
}
