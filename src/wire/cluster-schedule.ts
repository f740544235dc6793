// The answer of a cluster schedule (contract 4.1, endpoint 13): partial success, an envelope for each failed member.
import { z } from 'zod';
import { errorEnvelopeSchema } from './error-envelope.js';
import { locationScheduleSchema } from './rest.js';

export const clusterScheduleSchema = z
  .object({
    clusterId: z.string(),
    applied: z.array(locationScheduleSchema),
    errors: z.array(z.object({ locationId: z.string(), error: errorEnvelopeSchema })),
    totalLocations: z.number().int(),
  })
  .meta({ id: 'ClusterSchedule' });
export type ClusterSchedule = z.output<typeof clusterScheduleSchema>;
