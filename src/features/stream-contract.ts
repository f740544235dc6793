// Events of the stream: one name and one shape for each. An extension of the contract.
import { z } from 'zod';
import { LIMIT_REASONS } from '../../machines/ledger/grant.js';
import { errorEnvelopeSchema } from '../wire/error-envelope.js';
import { instantSchema } from '../wire/rest.js';
import { alarmSchema } from './alarms/contract.js';
import { fuseLiveSchema } from './live-contract.js';
import { drawnPowerShape } from './locations/contract.js';
import { operatorChangeShape } from './operator-limit/contract.js';
import { peakShavingShape } from './peak-shaving/contract.js';
import { profileViewSchema } from './profiles/contract.js';
import { buildingShape } from './site-meter/contract.js';

const ofLocation = { locationId: z.string(), at: instantSchema };
const ofConnector = { ...ofLocation, controllerUuid: z.string(), connectorId: z.string() };

const idSchema = z
  .number()
  .int()
  .meta({ description: 'Rises by one from event to event of the tenant, for as long as the process runs.' });

function eventSchema<Name extends string, Data extends z.ZodType>(event: Name, when: string, data: Data) {
  const id = `${event.charAt(0).toUpperCase()}${event.slice(1)}Event`;
  return z.object({ event: z.literal(event), id: idSchema, data }).meta({ id, description: when });
}

/** The last event of a stream has no id: it belongs to this stream alone. */
const closedSchema = z.object({ event: z.literal('closed'), data: errorEnvelopeSchema.shape.error }).meta({
  id: 'ClosedEvent',
  description: 'The last event: the reason for the end of the stream, as in the error envelope.',
});

/** Every event of the stream. `event` is the name of a server-sent event, and determines the shape of `data`. */
export const streamEventSchema = z
  .discriminatedUnion('event', [
    eventSchema(
      'effectiveLimit',
      "The limit by the location's own profiles changed.",
      z.object({ ...ofLocation, effectiveLimitKw: z.number() }),
    ),
    eventSchema(
      'gridLimit',
      'The limit in force of the location changed.',
      z.object({ ...ofLocation, gridLimitKw: z.number() }),
    ),
    eventSchema(
      'operatorLimit',
      "The grid operator's limit or its state changed.",
      z.object({ ...ofLocation, ...operatorChangeShape }),
    ),
    eventSchema(
      'building',
      'The building load, or the state of its meter, changed.',
      z.object({ ...ofLocation, ...buildingShape }),
    ),
    eventSchema(
      'peakShaving',
      'The power that peak shaving leaves changed.',
      z.object({ ...ofLocation, ...peakShavingShape }),
    ),
    eventSchema(
      'profile',
      'The window of a profile began or ended.',
      z.object({ ...ofLocation, ...profileViewSchema.shape }),
    ),
    eventSchema(
      'profileCancelled',
      'A profile was cancelled; the event has its end.',
      z.object({ ...ofLocation, ...profileViewSchema.shape }),
    ),
    eventSchema(
      'lock',
      'A connector was locked, its lock changed, or it was unlocked (`limitKw` null).',
      z.object({ ...ofConnector, limitKw: z.number().nullable() }),
    ),
    eventSchema(
      'connectorLimit',
      'A connector received another limit, or the same for another reason.',
      z.object({
        ...ofConnector,
        limitA: z.number(),
        limitKw: z.number(),
        reason: z.enum(LIMIT_REASONS),
      }),
    ),
    eventSchema('alarm', 'An alarm began, changed its reason, or ended.', alarmSchema),
    eventSchema(
      'power',
      'The power of the location changed: at most once a second.',
      z.object({ ...ofLocation, ...drawnPowerShape }),
    ),
    eventSchema(
      'fuses',
      'The load of a phase of a fuse changed: at most once a second.',
      z.object({ ...ofLocation, fuses: z.array(fuseLiveSchema) }),
    ),
    closedSchema,
  ])
  .meta({
    id: 'StreamEvent',
    description:
      'One server-sent event: `event` and `id` are its fields of these names, and `data` is its data field, which is JSON.',
  });

export type StreamEvent = Exclude<z.output<typeof streamEventSchema>, { event: 'closed' }>;

export type StreamEventName = StreamEvent['event'];

type WithoutId<Event> = Event extends StreamEvent ? Omit<Event, 'id'> : never;

/** An event before it has its id. */
export type StreamEventBody = WithoutId<StreamEvent>;

/** The data of the events of one name. */
export type StreamEventData<Name extends StreamEventName> = Extract<StreamEvent, { event: Name }>['data'];

export const streamQuerySchema = z.object({
  locationId: z.string().optional().meta({ description: 'Only events of this location.' }),
});
