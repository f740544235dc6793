// Extension: every limit ever submitted for a location, and every permanent limit it had.
import type { TenantUuid } from '../../../machines/ids.js';
import type { LocationHistory } from '../../wire/operator-history.js';
import type { SpanPageQuery } from '../../wire/operator-queries.js';
import { toInstant } from '../../wire/rest.js';
import { askedPast } from '../asked-window.js';
import type { Core } from '../core.js';
import { offsetOf } from '../cursors.js';
import { findLocation } from '../targets.js';

const LONGEST_DAYS = 366;

/** Submissions whose window meets the span, in the order they came; rows are only ever added, so pages stay what they are. */
export async function locationHistory(
  core: Core,
  tenantUuid: TenantUuid,
  locationText: string,
  asked: SpanPageQuery,
): Promise<LocationHistory> {
  const window = askedPast(asked, core.clock.nowMs(), LONGEST_DAYS);
  const offset = offsetOf(asked.cursor);
  const { locationId } = findLocation(core.directory, tenantUuid, locationText).record;
  // One row more than asked for tells whether there is a next page.
  const page = { offset, count: asked.limit + 1 };
  const [profiles, limits] = await Promise.all([
    core.archive.profileHistory(tenantUuid, { kind: 'location', locationId }, window, page),
    core.archive.permanentLimitHistory(tenantUuid, locationId, window, page),
  ]);
  const isLast = Math.max(profiles.length, limits.length) <= asked.limit;
  return {
    locationId,
    from: toInstant(window.startsAtMs),
    to: toInstant(window.endsAtMs),
    submissions: profiles.slice(0, asked.limit).map((profile) => ({
      priority: profile.priority,
      limitKw: profile.limitKw,
      startTime: toInstant(profile.startsAtMs),
      endTime: toInstant(profile.endsAtMs),
      submittedAt: toInstant(profile.submittedAtMs),
      supersededAt: profile.supersededAtMs === null ? null : toInstant(profile.supersededAtMs),
    })),
    permanentLimits: limits
      .slice(0, asked.limit)
      .map(({ limitKw, setAtMs }) => ({ limitKw, setAt: toInstant(setAtMs) })),
    nextCursor: isLast ? null : String(offset + asked.limit),
  };
}
