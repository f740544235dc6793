// Extension: every state of the grid operator's limit of a location, to prove each order and the time in which it held.
import type { TenantUuid } from '../../../machines/values/ids.js';
import type { OperatorHistory } from '../../wire/grid-operator.js';
import { toInstant } from '../../wire/instants.js';
import type { SpanPageQuery } from '../../wire/operator-queries.js';
import type { Core } from '../core.js';
import { viewOfStanding } from '../operator-limit-view.js';
import { askedHistory, nextCursorOf, rowsOfPage } from '../past-profiles.js';
import { findLocation } from '../targets.js';

export async function operatorLimitHistory(
  core: Core,
  tenantUuid: TenantUuid,
  locationText: string,
  query: SpanPageQuery,
): Promise<OperatorHistory> {
  const asked = askedHistory(query);
  const { locationId } = findLocation(core.directory, tenantUuid, locationText).record;
  const events = await core.archive.operatorEvents(tenantUuid, locationId, asked.window, asked.page);
  return {
    locationId,
    from: toInstant(asked.window.startsAtMs),
    to: toInstant(asked.window.endsAtMs),
    events: rowsOfPage(asked, events).map((event) => ({
      recordedAt: toInstant(event.recordedAtMs),
      ...viewOfStanding(event),
    })),
    nextCursor: nextCursorOf(asked, events),
  };
}
