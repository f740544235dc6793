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

export function locationTimeline(
  core: Core,
  tenantUuid: TenantUuid,
  locationText: string,
  asked: SpanQuery,
): LocationTimeline {
  const window = askedFuture(asked, core.clock.nowMs(), LONGEST_DAYS);
  const location = findLocation(core.directory, tenantUuid, locationText);
  return {
    locationId: location.record.locationId,
    from: toInstant(window.startsAtMs),
    to: toInstant(window.endsAtMs),
    segments: gridTimeline(location, window).map((segment) => ({
      startTime: toInstant(segment.startsAtMs),
      endTime: toInstant(segment.endsAtMs),
      limitKw: segment.limitKw,
      effectiveLimitKw: segment.effectiveLimitKw,
      cause: segment.cause,
    })),
  };
}
