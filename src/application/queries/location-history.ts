// Extension: every limit ever submitted for a location, and every permanent limit it had.
import type { TenantUuid } from '../../../machines/values/ids.js';
import { toInstant } from '../../wire/instants.js';
import type { LocationHistory } from '../../wire/operator-history.js';
import type { SpanPageQuery } from '../../wire/operator-queries.js';
import type { Core } from '../core.js';
import { askedHistory, nextCursorOf, rowsOfPage, submissionOf } from '../past-profiles.js';
import { findLocation } from '../targets.js';

/** Submissions with a window that meets the span, in order of arrival. Rows are only added, so pages stay the same. */
export async function locationHistory(
  core: Core,
  tenantUuid: TenantUuid,
  locationText: string,
  query: SpanPageQuery,
): Promise<LocationHistory> {
  const asked = askedHistory(query);
  const { window, page } = asked;
  const { locationId } = findLocation(core.directory, tenantUuid, locationText).record;
  const [profiles, limits] = await Promise.all([
    core.archive.profileHistory(tenantUuid, { kind: 'location', locationId }, window, page),
    core.archive.permanentLimitHistory(tenantUuid, locationId, window, page),
  ]);
  return {
    locationId,
    from: toInstant(window.startsAtMs),
    to: toInstant(window.endsAtMs),
    submissions: rowsOfPage(asked, profiles).map(submissionOf),
    permanentLimits: rowsOfPage(asked, limits).map(({ limitKw, setAtMs }) => ({
      limitKw,
      setAt: toInstant(setAtMs),
    })),
    nextCursor: nextCursorOf(asked, profiles, limits),
  };
}
