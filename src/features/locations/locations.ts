// The tenant's locations with their main figures, page by page in the natural order of their ids; and the limits in
// force at one over time, with their causes, also with an assumed change.
import { limitsInForce } from '../../../machines/limits/limit-in-force.js';
import { dropProfile, putProfile } from '../../../machines/limits/profile-stack.js';
import { isId } from '../../../machines/values/ids.js';
import { compareNaturally } from '../../../machines/values/natural-order.js';
import type { EpochMs } from '../../../machines/values/time.js';
import { findLocation, findTenant } from '../../actors/core.js';
import { drawnKwOf, type LocationEntity } from '../../actors/directory.js';
import { type Assumption, clusterScales, sourcesAhead } from '../../actors/look-ahead.js';
import { EXTENSION, endpoint } from '../../inbound/http/endpoint.js';
import { brokenWindowRule, fromInstant, toInstant } from '../../wire/instants.js';
import { viewOfCause } from '../../wire/limit-cause.js';
import { wrongParameter } from '../../wire/plain-errors.js';
import { askedFuture, pageQuerySchema, unknownCursor } from '../../wire/spans.js';
import {
  type LocationSummary,
  locationListSchema,
  locationSummarySchema,
  locationTimelineSchema,
  type TimelineQuery,
  timelineQuerySchema,
} from './contract.js';

/** The cursor is the last id of the page before, so that a location added meanwhile moves no other. */
export const listLocations = endpoint({
  operationId: 'listLocations',
  method: 'get',
  path: '/v1/locations',
  ...EXTENSION,
  scope: 'locations:read',
  summary: 'List the locations with their present state',
  querySchema: pageQuerySchema,
  responseSchema: locationListSchema,
  errors: [],
  handle({ directory, expireReadings }, { tenantUuid, query: { limit, cursor = '' } }) {
    if (cursor !== '' && !isId(cursor)) throw unknownCursor();
    const { locations } = findTenant(directory, tenantUuid);
    const ids = [...locations.keys()]
      .filter((locationId) => compareNaturally(locationId, cursor) > 0)
      .sort(compareNaturally);
    const page = ids.slice(0, limit);
    directory.catchUp(locations.values());
    return {
      locations: page.flatMap((locationId) => {
        const location = locations.get(locationId);
        if (location === undefined) return [];
        expireReadings(location);
        return [summaryOf(location)];
      }),
      count: locations.size,
      nextCursor: ids.length > limit ? (page.at(-1) ?? null) : null,
    };
  },
});

export const getLocation = endpoint({
  operationId: 'getLocation',
  method: 'get',
  path: '/v1/locations/{locationId}',
  ...EXTENSION,
  scope: 'locations:read',
  summary: 'Read one location of that list',
  responseSchema: locationSummarySchema,
  errors: ['LOCATION_NOT_FOUND'],
  handle({ directory, expireReadings }, { tenantUuid, path }) {
    const location = findLocation(directory, tenantUuid, path.locationId);
    expireReadings(location);
    return summaryOf(location);
  },
});

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

const LONGEST_DAYS = 366;
/** A cluster's members may have thousands of windows, and each one moves the share of all. */
const SEGMENTS_AT_MOST = 1_000;

export const getLocationTimeline = endpoint({
  operationId: 'getLocationTimeline',
  method: 'get',
  path: '/v1/locations/{locationId}/timeline',
  ...EXTENSION,
  scope: 'locations:read',
  summary: 'Read the limits in force of a location over time, with their causes',
  querySchema: timelineQuerySchema,
  responseSchema: locationTimelineSchema,
  errors: ['LOCATION_NOT_FOUND'],
  handle({ directory, clock }, { tenantUuid, path, query }) {
    const now = clock.nowMs();
    const window = askedFuture(query, now, LONGEST_DAYS);
    const location = findLocation(directory, tenantUuid, path.locationId);
    const assumption = assumptionOf(location, query, now);
    const clusters = [...location.clusters].map((cluster) => clusterScales(cluster, window, assumption));
    const segments = limitsInForce(sourcesAhead(location, clusters, assumption), [window], SEGMENTS_AT_MOST);
    const endsAtMs = segments.at(-1)?.endsAtMs ?? window.endsAtMs;
    return {
      locationId: location.record.locationId,
      from: toInstant(window.startsAtMs),
      to: toInstant(endsAtMs),
      nextFrom: endsAtMs < window.endsAtMs ? toInstant(endsAtMs) : null,
      segments: segments.map((segment) => ({
        startTime: toInstant(segment.startsAtMs),
        endTime: toInstant(segment.endsAtMs),
        limitKw: segment.limitKw,
        effectiveLimitKw: segment.effectiveLimitKw,
        cause: viewOfCause(segment.cause),
      })),
    };
  },
});

/**
 * The location's limits with the profile or permanent limit of the query, or without a profile; undefined if the query
 * names no change.
 * @throws DomainError INVALID_REQUEST_BODY if a part of the profile is missing, or its window could not be submitted
 */
function assumptionOf(location: LocationEntity, asked: TimelineQuery, now: EpochMs): Assumption | undefined {
  const { withLimitKw, withStartTime, withEndTime, withPriority, withPermanentLimitKw, withoutPriority } =
    asked;
  const { context } = location.actor.getSnapshot();
  const stack = withoutPriority === undefined ? context.stack : dropProfile(context.stack, withoutPriority);
  const permanentLimitKw = withPermanentLimitKw ?? context.permanentLimitKw;
  const parts = { withLimitKw, withStartTime, withEndTime };
  if (Object.values({ ...parts, withPriority }).every((part) => part === undefined))
    return withPermanentLimitKw === undefined && withoutPriority === undefined
      ? undefined
      : { location, stack, permanentLimitKw };
  if (withLimitKw === undefined || withStartTime === undefined || withEndTime === undefined) {
    const missing = Object.entries(parts).find(([, part]) => part === undefined)?.[0];
    throw wrongParameter(
      String(missing),
      'required: a profile to try needs withLimitKw, withStartTime and withEndTime',
    );
  }
  const window = { startsAtMs: fromInstant(withStartTime), endsAtMs: fromInstant(withEndTime) };
  const broken = brokenWindowRule(window, now, 'withStartTime');
  if (broken !== undefined) throw wrongParameter('withEndTime', broken);
  const assumed = putProfile(stack, { priority: withPriority ?? 0, limitKw: withLimitKw, ...window });
  return { location, stack: assumed, permanentLimitKw };
}
