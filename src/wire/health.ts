// What `GET /health` tells a probe: nothing of any tenant.
import { z } from 'zod';
import 'zod-openapi';

const checkSchema = z.enum(['ok', 'failing']);

export const healthSchema = z
  .object({
    status: z.enum(['ok', 'degraded']),
    version: z.string(),
    uptimeSeconds: z.number(),
    role: z
      .enum(['active', 'standby'])
      .optional()
      .describe('Where several nodes stand by for each other: whether this one runs, or waits and forwards.'),
    checks: z.object({
      database: checkSchema,
      broker: checkSchema.optional().describe('Of a node that runs.'),
      scheduler: checkSchema.optional().describe('Of a node that runs.'),
      active: checkSchema.optional().describe('Of a node that stands by: whether another one runs.'),
      clock: checkSchema
        .optional()
        .describe(
          "Of a node that stands by: failing where its clock and the database's differ by more than 2 s.",
        ),
    }),
  })
  .meta({ id: 'Health' });
export type Health = z.output<typeof healthSchema>;
