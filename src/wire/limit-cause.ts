// The cause of a location's limit in force, in answers about the present and about a span of time.
import { z } from 'zod';
import { type LimitCause, SINGLE_CAUSES } from '../../machines/limits/limit-in-force.js';
import { toInstant } from './instants.js';
import { instantSchema } from './rest.js';

/** The rule that sets a grid limit. */
export const gridLimitCauseSchema = z
  .discriminatedUnion('kind', [
    z.object({ kind: z.literal('permanentLimit') }),
    z.object({
      kind: z.literal('profile'),
      priority: z.number().int(),
      startTime: instantSchema,
      endTime: instantSchema,
    }),
    z.object({ kind: z.literal('clusterShare'), clusterId: z.string() }),
    ...SINGLE_CAUSES.map((kind) => z.object({ kind: z.literal(kind) })),
  ])
  .meta({ id: 'GridLimitCause' });
export type GridLimitCause = z.output<typeof gridLimitCauseSchema>;

export function viewOfCause(cause: LimitCause): GridLimitCause {
  if (cause.kind !== 'profile') return cause;
  const { priority, startsAtMs, endsAtMs } = cause.profile;
  return { kind: 'profile', priority, startTime: toInstant(startsAtMs), endTime: toInstant(endsAtMs) };
}
