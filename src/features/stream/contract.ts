// The frame of each event of the stream. An extension of the contract.
import { z } from 'zod';
import { errorEnvelopeSchema } from '../../wire/error-envelope.js';
import { instantSchema } from '../../wire/rest.js';

const idSchema = z
  .number()
  .int()
  .meta({ description: 'Rises by one from event to event of the tenant, for as long as the process runs.' });

export function eventSchema<Name extends string, Data extends z.ZodType>(
  event: Name,
  when: string,
  data: Data,
) {
  const id = `${event.charAt(0).toUpperCase()}${event.slice(1)}Event`;
  return z.object({ event: z.literal(event), id: idSchema, data }).meta({ id, description: when });
}

/** Data of an event about a location, and about one of its connectors. */
export const locationShape = { locationId: z.string(), at: instantSchema };
export const connectorShape = { ...locationShape, controllerUuid: z.string(), connectorId: z.string() };

/** The last event of a stream has no id: it belongs to this stream alone. */
export const closedSchema = z
  .object({ event: z.literal('closed'), data: errorEnvelopeSchema.shape.error })
  .meta({
    id: 'ClosedEvent',
    description: 'The last event: the reason for the end of the stream, as in the error envelope.',
  });
