// The limits that apply to a location over time, with their cause: one row
// for each stretch. An extension of the contract.
import { z } from 'zod';
import { gridLimitCauseSchema } from './operator-locations.js';
import { instantSchema } from './rest.js';

export const locationTimelineSchema = z
  .object({
    locationId: z.string(),
    from: instantSchema,
    to: instantSchema.meta({ description: 'End of the segments.' }),
    nextFrom: instantSchema
      .nullable()
      .meta({ description: 'Begin of the next request, after 1,000 segments; null if they cover the span.' }),
    segments: z.array(
      z.object({
        startTime: instantSchema,
        endTime: instantSchema,
        limitKw: z.number(),
        effectiveLimitKw: z.number().meta({ description: "Limit by the location's own profiles alone." }),
        cause: gridLimitCauseSchema,
      }),
    ),
  })
  .meta({ id: 'LocationTimeline' });
export type LocationTimeline = z.output<typeof locationTimelineSchema>;
