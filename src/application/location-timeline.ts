// Extension: the limits in force at a location over time, and their causes; also with an assumed change.

import { limitsInForce } from '../../machines/limits/limit-in-force.js';
import { dropProfile, putProfile } from '../../machines/limits/profile-stack.js';
import type { TenantUuid } from '../../machines/values/ids.js';
import type { EpochMs } from '../../machines/values/time.js';
import type { LocationEntity } from '../actors/directory.js';
import { fromInstant, toInstant } from '../wire/instants.js';
import type { LocationTimeline } from '../wire/operator-locations.js';
import type { TimelineQuery } from '../wire/operator-queries.js';
import { wrongParameter } from '../wire/plain-errors.js';
import type { Core } from './core.js';
import { findLocation } from './core.js';
import { viewOfCause } from './location-live.js';
import { type Assumption, clusterScales, sourcesAhead } from './look-ahead.js';
import { brokenWindowRule } from './profiles.js';
import { askedFuture } from './query-spans.js';

const LONGEST_DAYS = 366;
/** A cluster's members may have thousands of windows, and each one moves the share of all. */
const SEGMENTS_AT_MOST = 1_000;

export function locationTimeline(
  core: Core,
  tenantUuid: TenantUuid,
  locationText: string,
  asked: TimelineQuery,
): LocationTimeline {
  const now = core.clock.nowMs();
  const window = askedFuture(asked, now, LONGEST_DAYS);
  const location = findLocation(core.directory, tenantUuid, locationText);
  const assumption = assumptionOf(location, asked, now);
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
}

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
