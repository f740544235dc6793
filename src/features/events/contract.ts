// The event log: its entries and their parameters.
import { z } from 'zod';
import { EVENT_SOURCES, EVENT_TYPES, type EventType } from '../../ports/records.js';
import { mustBeText } from '../../wire/plain-errors.js';
import { instantSchema } from '../../wire/rest.js';
import { digits } from '../../wire/spans.js';

const MOST_EVENTS = 1_000;
const LONGEST_WAIT_S = 25;
const ID_RULE = 'must be the id of an event: a whole number';
const TYPES_RULE = `must be types of events, separated by commas: ${EVENT_TYPES.join(', ')}`;

const typesSchema = z
  .string(TYPES_RULE)
  .max(600, TYPES_RULE)
  .refine((text) => text.split(',').every((type) => EVENT_TYPES.some((known) => known === type)), TYPES_RULE)
  .transform((text) => text.split(',') as readonly string[] as readonly EventType[]);

export const eventsQuerySchema = z.object({
  after: z
    .string()
    .regex(/^\d{1,15}$/, ID_RULE)
    .default('0')
    .meta({ description: 'Events after the one with this id. Left out: from the oldest kept one on.' }),
  type: typesSchema
    .optional()
    .meta({ description: 'Types, separated by commas. Left out: all.', example: 'alarm.began,alarm.ended' }),
  locationId: z
    .string()
    .max(200)
    .optional()
    .meta({ description: 'Events of this location alone. Left out: of the whole organization.' }),
  limit: digits(
    z
      .number(mustBeText(`an integer from 1 to ${MOST_EVENTS}`))
      .int()
      .min(1)
      .max(MOST_EVENTS),
  )
    .default(MOST_EVENTS)
    .meta({ description: 'Highest number of events.' }),
  waitS: digits(
    z
      .number(mustBeText(`an integer from 0 to ${LONGEST_WAIT_S}`))
      .int()
      .min(0)
      .max(LONGEST_WAIT_S),
  )
    .default(0)
    .meta({ description: 'Seconds that the answer waits for an event if there is none yet.' }),
});

const loggedEventSchema = z
  .object({
    id: z.string().meta({ description: 'Ascending within the organization, with gaps.', example: '1041' }),
    type: z.enum(EVENT_TYPES),
    at: instantSchema,
    locationId: z.string().nullable().meta({ description: 'Null for the organization and for clusters.' }),
    controllerUuid: z.string().nullable(),
    connectorId: z.string().nullable(),
    source: z.enum(EVENT_SOURCES).meta({
      description: '`rest`: a request. `commandLine`: also provisioning. `service`: a rule or a charger.',
    }),
    by: z.string().nullable().meta({ description: 'The credential that caused it; null without one.' }),
    data: z.record(z.string(), z.unknown()).meta({ description: 'The object that changed, by type.' }),
  })
  .meta({ id: 'LoggedEvent' });

/** On the stream: a reader that comes back with this id misses and repeats none. */
export const loggedSchema = z
  .object({
    event: z.literal('logged'),
    id: z.number().int().meta({ description: 'Of the event log: as `id` of its data.' }),
    data: loggedEventSchema,
  })
  .meta({ id: 'LoggedStreamEvent', description: 'With `events=logged`: an event of the log.' });

export const gapSchema = z.object({ event: z.literal('gap'), data: z.object({ after: z.string() }) }).meta({
  id: 'GapEvent',
  description:
    'With `events=logged`: events after the id `after` are no longer kept, or it is unknown. Read the present state again.',
});

export const eventPageSchema = z
  .object({
    events: z.array(loggedEventSchema).meta({ description: 'The oldest first.' }),
    last: z
      .string()
      .meta({ description: 'Continue `after` this id. It counts events that a filter leaves out.' }),
    isGapless: z.boolean().meta({
      description:
        'False if events after `after` are no longer kept, or the log has no such id yet: read the present state again.',
    }),
  })
  .meta({ id: 'EventPage' });
