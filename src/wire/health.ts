// What `GET /health` tells a probe: nothing of any tenant.
import { z } from 'zod';
import 'zod-openapi';

const checkSchema = z.enum(['ok', 'failing']);

export const healthSchema = z
  .object({
    status: z.enum(['ok', 'degraded']),
    version: z.string(),
    uptimeSeconds: z.number(),
    checks: z.object({ database: checkSchema, broker: checkSchema, scheduler: checkSchema }),
  })
  .meta({ id: 'Health' });
export type Health = z.output<typeof healthSchema>;
