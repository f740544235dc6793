// Every event of the stream: its name, its cause and its shape.
import { z } from 'zod';
import { LIMIT_REASONS } from '../../machines/ledger/grant.js';
import { drawnPowerShape } from '../wire/rest.js';
import { alarmSchema } from './alarms/contract.js';
import { eventsQuerySchema, gapSchema, loggedSchema } from './events/contract.js';
import { fuseLiveSchema } from './live/contract.js';
import { operatorChangeShape } from './operator-limit/contract.js';
import { peakShavingShape } from './peak-shaving/contract.js';
import { profileViewSchema } from './profiles/contract.js';
import { buildingShape } from './site-meter/contract.js';
import { closedSchema, connectorShape, eventSchema, locationShape } from './stream/contract.js';

const { after, type } = eventsQuerySchema.shape;

export const streamQuerySchema = z.object({
  locationId: z.string().optional().meta({ description: 'Only events of this location.' }),
  events: z
    .enum(['live', 'logged'])
    .default('live')
    .meta({ description: '`live`: changes of the present state. `logged`: the event log, which resumes.' }),
  after: after.unwrap().optional().meta({
    description:
      'With `events=logged`: events after the one with this id. The header `Last-Event-ID` comes first. Left out: from now on.',
  }),
  type,
});

/** `event` is the name of a server-sent event, and determines the shape of `data`. */
export const streamEventSchema = z
  .discriminatedUnion('event', [
    eventSchema(
      'effectiveLimit',
      "The limit by the location's own profiles changed.",
      z.object({ ...locationShape, effectiveLimitKw: z.number() }),
    ),
    eventSchema(
      'gridLimit',
      'The limit in force of the location changed.',
      z.object({ ...locationShape, gridLimitKw: z.number() }),
    ),
    eventSchema(
      'operatorLimit',
      "The grid operator's limit or its state changed.",
      z.object({ ...locationShape, ...operatorChangeShape }),
    ),
    eventSchema(
      'building',
      'The building load, or the state of its meter, changed.',
      z.object({ ...locationShape, ...buildingShape }),
    ),
    eventSchema(
      'peakShaving',
      'The power that peak shaving leaves changed.',
      z.object({ ...locationShape, ...peakShavingShape }),
    ),
    eventSchema(
      'profile',
      'The window of a profile began or ended.',
      z.object({ ...locationShape, ...profileViewSchema.shape }),
    ),
    eventSchema(
      'profileCancelled',
      'A profile was cancelled; the event has its end.',
      z.object({ ...locationShape, ...profileViewSchema.shape }),
    ),
    eventSchema(
      'lock',
      'A connector was locked, its lock changed, or it was unlocked (`limitKw` null).',
      z.object({ ...connectorShape, limitKw: z.number().nullable() }),
    ),
    eventSchema(
      'connectorLimit',
      'A connector received another limit, or the same for another reason.',
      z.object({
        ...connectorShape,
        limitA: z.number(),
        limitKw: z.number(),
        reason: z.enum(LIMIT_REASONS),
      }),
    ),
    eventSchema('alarm', 'An alarm began, changed its reason, or ended.', alarmSchema),
    eventSchema(
      'power',
      'The power of the location changed: at most once a second.',
      z.object({ ...locationShape, ...drawnPowerShape }),
    ),
    eventSchema(
      'fuses',
      'The load of a phase of a fuse changed: at most once a second.',
      z.object({ ...locationShape, fuses: z.array(fuseLiveSchema) }),
    ),
    loggedSchema,
    gapSchema,
    closedSchema,
  ])
  .meta({
    id: 'StreamEvent',
    description:
      'One server-sent event: `event` and `id` are its fields of these names, and `data` is its data field, which is JSON.',
  });

/** An event of the present state. */
export type StreamEvent = Exclude<z.output<typeof streamEventSchema>, { event: 'logged' | 'gap' | 'closed' }>;

export type StreamEventName = StreamEvent['event'];

type WithoutId<Event> = Event extends StreamEvent ? Omit<Event, 'id'> : never;

/** An event before it has its id. */
export type StreamEventBody = WithoutId<StreamEvent>;

/** The data of the events of one name. */
export type StreamEventData<Name extends StreamEventName> = Extract<StreamEvent, { event: Name }>['data'];
