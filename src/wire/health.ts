// The answer of `GET /health` for probes: no data of any tenant.
import { z } from 'zod';
import 'zod-openapi';

const checkSchema = z.enum(['ok', 'failing']);

export const healthSchema = z
  .object({
    status: z.enum(['ok', 'degraded']),
    version: z.string(),
    uptimeSeconds: z.number(),
    role: z
      .enum(['active', 'standby', 'front'])
      .optional()
      .describe(
        'Where several nodes stand by for each other: whether this one runs, or waits and forwards. `front`: chargers connect to it, and nodes decide.',
      ),
    shards: z
      .object({ held: z.array(z.number()), of: z.number() })
      .optional()
      .describe('Where several nodes share the tenants: the parts of them that this one owns.'),
    checks: z.object({
      database: checkSchema.optional().describe('Left out by a front, which goes on without it.'),
      broker: checkSchema.optional().describe('Of a node that runs, and of a front.'),
      bus: checkSchema.optional().describe('Of a front: whether it reaches NATS.'),
      scheduler: checkSchema.optional().describe('Of a node that runs.'),
      active: checkSchema.optional().describe('Of a node that stands by: whether another one runs.'),
      clock: checkSchema
        .optional()
        .describe(
          "Of a node that stands by, or shares the tenants: failing where its clock and the database's differ by more than 2 s.",
        ),
    }),
  })
  .meta({ id: 'Health' });
export type Health = z.output<typeof healthSchema>;
