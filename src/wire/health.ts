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
        'If several nodes stand by for each other: this one runs (active), or waits and forwards (standby). `front`: chargers connect to it, and nodes decide.',
      ),
    shards: z
      .object({ held: z.array(z.number()), of: z.number() })
      .optional()
      .describe('If several nodes share the tenants: the shards that this one owns.'),
    checks: z.object({
      database: checkSchema.optional().describe('Left out by a front, which goes on without it.'),
      broker: checkSchema.optional().describe('Of a node that runs, and of a front.'),
      bus: checkSchema.optional().describe('Of a front: its connection to NATS.'),
      scheduler: checkSchema.optional().describe('Of a node that runs.'),
      active: checkSchema.optional().describe('Of a node that stands by: failing if no other node runs.'),
      clock: checkSchema
        .optional()
        .describe(
          "Of a node that stands by, or shares the tenants: failing if its clock and the database's differ by more than 2 s.",
        ),
    }),
  })
  .meta({ id: 'Health' });
export type Health = z.output<typeof healthSchema>;
