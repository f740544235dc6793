// The event log: each committed change of a tenant once, in order, for systems that were away.

import { DomainError } from '../../../machines/values/errors.js';
import { findLocationId } from '../../actors/core.js';
import { EXTENSION, endpoint } from '../../inbound/http/endpoint.js';
import {
  EVENT_TYPES,
  type EventRecord,
  type EventSource,
  type EventType,
  type Scope,
} from '../../ports/records.js';
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
  async handle({ directory, clock, read, changes }, { tenantUuid, query, scopes }) {
    const locationId = findLocationId(directory, tenantUuid, query.locationId);
    const types = readableTypes(query.type, scopes);
    const filter = { afterId: Number(query.after), types, locationId, count: query.limit };
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

/** Their objects are those of endpoints with this scope. */
const OF_CREDENTIALS: readonly EventType[] = [
  'credential.issued',
  'credential.changed',
  'credential.ended',
  'webhook.changed',
  'webhook.deleted',
  'mailSubscription.changed',
  'mailSubscription.deleted',
];
export const CREDENTIALS_SCOPE: Scope = 'credentials:write';

/** @throws DomainError INSUFFICIENT_SCOPE if the caller asks for types that it may not read */
function readableTypes(
  asked: readonly EventType[] | undefined,
  scopes: readonly Scope[],
): readonly EventType[] | undefined {
  if (scopes.includes(CREDENTIALS_SCOPE)) return asked;
  if (asked === undefined) return EVENT_TYPES.filter((type) => !OF_CREDENTIALS.includes(type));
  const refused = asked.find((type) => OF_CREDENTIALS.includes(type));
  if (refused === undefined) return asked;
  throw new DomainError('INSUFFICIENT_SCOPE', `type: ${refused} needs the scope ${CREDENTIALS_SCOPE}.`);
}

function sourceOf({ by, type }: EventRecord): EventSource {
  if (by !== null) return 'rest';
  return type === 'provisioning.changed' || OF_CREDENTIALS.includes(type) ? 'commandLine' : 'service';
}

export function viewOfEvent(event: EventRecord) {
  const { id, type, atMs, locationId, controllerUuid, connectorId, by, data } = event;
  return {
    id: String(id),
    type,
    at: toInstant(atMs),
    locationId,
    controllerUuid,
    connectorId,
    source: sourceOf(event),
    by,
    data,
  };
}
