// Extension: which limit a location is held to when, and why.
import type { TenantUuid } from '../../../machines/ids.js';
import type { SpanQuery } from '../../wire/operator-queries.js';
import type { LocationTimeline } from '../../wire/operator-timeline.js';
import { toInstant } from '../../wire/rest.js';
import { askedFuture } from '../asked-window.js';
import type { Core } from '../core.js';
import { gridTimeline } from '../grid-timeline.js';
import { findLocation } from '../targets.js';

const LONGEST_DAYS = 366;
/** A cluster's members may have thousands of windows, each of which moves the share of all. */
const SEGMENTS_AT_MOST = 1_000;

export function locationTimeline(
  core: Core,
  tenantUuid: TenantUuid,
  locationText: string,
  asked: SpanQuery,
): LocationTimeline {
  const window = askedFuture(asked, core.clock.nowMs(), LONGEST_DAYS);
  const location = findLocation(core.directory, tenantUuid, locationText);
  const segments = gridTimeline(location, window, SEGMENTS_AT_MOST);
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
      cause: segment.cause,
    })),
  };
}
