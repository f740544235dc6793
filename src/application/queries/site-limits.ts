// Limits from outside: the grid operator's, and the capacity that the building leaves.
import type { TenantUuid } from '../../../machines/values/ids.js';
import type { OperatorHistory, OperatorLimitView } from '../../wire/grid-operator.js';
import { toInstant } from '../../wire/instants.js';
import type { SpanPageQuery } from '../../wire/operator-queries.js';
import type { SiteMeterView } from '../../wire/site-meter.js';
import type { Core } from '../core.js';
import { findLocation } from '../core.js';
import { requireOperator, viewOfOperatorLimit, viewOfStanding } from '../operator-limit-view.js';
import { askedHistory, nextCursorOf, rowsOfPage } from '../past-profiles.js';
import { requireSiteMeter } from '../site-meter-view.js';

// Extension: the present state of the grid operator's limit of a location.
export function operatorLimit(core: Core, tenantUuid: TenantUuid, locationText: string): OperatorLimitView {
  const location = findLocation(core.directory, tenantUuid, locationText);
  return viewOfOperatorLimit(location, requireOperator(location));
}

// Extension: every state of the grid operator's limit of a location, to prove each order and the time in which it held.
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

// Extension: a location's meter, and the capacity that the building leaves for the chargers by its readings.
export function siteMeter(core: Core, tenantUuid: TenantUuid, locationText: string): SiteMeterView {
  return requireSiteMeter(findLocation(core.directory, tenantUuid, locationText));
}
