// Which limit applies to a location when, and why: one row a stretch. An extension of the contract.
import { z } from 'zod';
import { gridLimitCauseSchema } from './operator-locations.js';
import { instantSchema } from './rest.js';

export const locationTimelineSchema = z
  .object({
    locationId: z.string(),
    from: instantSchema,
    to: instantSchema,
    segments: z.array(
      z.object({
        startTime: instantSchema,
        endTime: instantSchema,
        limitKw: z.number(),
        effectiveLimitKw: z.number().meta({ description: "By the location's own profiles alone." }),
        cause: gridLimitCauseSchema,
      }),
    ),
  })
  .meta({ id: 'LocationTimeline' });
export type LocationTimeline = z.output<typeof locationTimelineSchema>;
