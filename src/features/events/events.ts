// The event log: each committed change of a tenant once, in order, for systems that were away.

import { findLocationId } from '../../actors/core.js';
import { EXTENSION, endpoint } from '../../inbound/http/endpoint.js';
import type { EventRecord } from '../../ports/records.js';
import { toInstant } from '../../wire/instants.js';
import { eventPageSchema, eventsQuerySchema } from './contract.js';
import { readEvents } from './rows.js';

export const listEvents = endpoint({
  operationId: 'listEvents',
  method: 'get',
  path: '/v1/events',
  ...EXTENSION,
  scope: 'locations:read',
  summary: 'Read the event log from an id on, and wait for the next event',
  querySchema: eventsQuerySchema,
  responseSchema: eventPageSchema,
  errors: ['LOCATION_NOT_FOUND'],
  async handle({ directory, clock, read, changes }, { tenantUuid, query }) {
    const locationId = findLocationId(directory, tenantUuid, query.locationId);
    const filter = { afterId: Number(query.after), types: query.type, locationId, count: query.limit };
    const untilMs = clock.monotonicMs() + 1000 * query.waitS;
    for (;;) {
      const seen = changes.seen(tenantUuid);
      const { events, newestId, forgottenId } = await read((trx) => readEvents(trx, tenantUuid, filter));
      const leftMs = untilMs - clock.monotonicMs();
      // An id beyond the newest is of a database that was replaced by an older one.
      const isGapless = forgottenId <= filter.afterId && filter.afterId <= newestId;
      if (events.length > 0 || leftMs <= 0 || !isGapless || !changes.mayWait(tenantUuid))
        return {
          events: events.map(viewOfEvent),
          last: String(events.length === query.limit ? events.at(-1)?.id : newestId),
          isGapless,
        };
      await changes.after(tenantUuid, seen, leftMs);
    }
  },
});

function viewOfEvent({ id, type, atMs, locationId, controllerUuid, connectorId, by, data }: EventRecord) {
  return {
    id: String(id),
    type,
    at: toInstant(atMs),
    locationId,
    controllerUuid,
    connectorId,
    by,
    data,
  };
}
