// Query parameters of the extensions for operators: all are optional, and unknown ones are ignored.
import { z } from 'zod';
import 'zod-openapi';
import { HIGHEST_PRIORITY } from '../../machines/limits/profile-stack.js';
import { mustBeText } from './plain-errors.js';
import { instantSchema, LIMIT_KW_RULE, MOST_LIMIT_KW, PRIORITY_RULE } from './rest.js';

const DAY_S = 86_400;

/** Default and maximum of the rows of a page. */
const ROWS_AT_MOST = 1_000;

/** A number in decimal digits alone: no sign, no exponent, no `0x`. */
function digits<S extends z.ZodNumber>(schema: S) {
  return z.preprocess((text) => (/^\d{1,9}$/.test(String(text)) ? Number(text) : text), schema);
}

const limitParameter = digits(
  z
    .number(mustBeText(`an integer from 1 to ${ROWS_AT_MOST}`))
    .int()
    .min(1)
    .max(ROWS_AT_MOST),
)
  .default(ROWS_AT_MOST)
  .meta({ description: 'Highest number of rows.' });

const cursorParameter = z
  .string('must be a nextCursor of this endpoint')
  .max(200)
  .optional()
  .meta({ description: '`nextCursor` of the page before; without it, the first page.' });

const spanParameters = {
  from: instantSchema.optional().meta({ description: 'First instant (inclusive).' }),
  to: instantSchema.optional().meta({ description: 'End (exclusive); after from.' }),
};

/** The span of a history. */
const historySpanParameters = {
  from: instantSchema
    .optional()
    .meta({ description: 'First instant (inclusive). Left out: from the first entry on.' }),
  to: instantSchema.optional().meta({
    description: 'End (exclusive); after from. Left out: no end, with windows in the future.',
  }),
};

/** `at` of the answers that list a target's profiles. */
export const asOfQuerySchema = z.object({
  at: instantSchema.optional().meta({
    description:
      'Extension: the answer as of this instant, from profiles submitted by then, and not replaced or cancelled. Without it, now.',
  }),
});

/** A page of a list. */
export const pageQuerySchema = z.object({ limit: limitParameter, cursor: cursorParameter });
export type PageQuery = z.output<typeof pageQuerySchema>;

const priorityParameter = digits(
  z.number(mustBeText(PRIORITY_RULE)).int().min(0).max(HIGHEST_PRIORITY),
).optional();

const withKwParameter = z
  .preprocess(
    (text) => (/^\d{1,7}(\.\d{1,20})?$/.test(String(text)) ? Number(text) : text),
    z.number(mustBeText(LIMIT_KW_RULE)).gt(0).max(MOST_LIMIT_KW),
  )
  .optional();

/** A span of the timeline, and a change of the location's own limits to try in it. */
export const timelineQuerySchema = z.object({
  ...spanParameters,
  withLimitKw: withKwParameter.meta({
    description:
      'Try a profile with this limit, kW. Needs `withStartTime` and `withEndTime`; nothing is written.',
  }),
  withStartTime: instantSchema.optional().meta({ description: 'First instant of the profile to try.' }),
  withEndTime: instantSchema
    .optional()
    .meta({ description: 'End of the profile to try; after `withStartTime` and in the future.' }),
  withPriority: priorityParameter.meta({
    description: 'Priority of the profile to try; 0 if left out.',
  }),
  withoutPriority: priorityParameter.meta({
    description: 'Try the location without its profile of this priority; nothing is written.',
  }),
  withPermanentLimitKw: withKwParameter.meta({
    description: 'Try this permanent limit, kW; nothing is written.',
  }),
});
export type TimelineQuery = z.output<typeof timelineQuerySchema>;

/** A span of time; the endpoint has defaults for missing ends. */
export type SpanQuery = Pick<TimelineQuery, 'from' | 'to'>;

/** A page of events in a span of time. */
export const spanPageQuerySchema = z.object({ ...spanParameters, ...pageQuerySchema.shape });
export type SpanPageQuery = z.output<typeof spanPageQuerySchema>;

/** A page of submissions. */
export const historyQuerySchema = z.object({ ...historySpanParameters, ...pageQuerySchema.shape });

export const powerQuerySchema = z.object({
  ...spanParameters,
  step: digits(
    z
      .number(mustBeText(`a multiple of 60 from 60 to ${DAY_S}`))
      .int()
      .min(60, { abort: true })
      .max(DAY_S, { abort: true })
      .multipleOf(60),
  )
    .default(60)
    .meta({ description: 'Seconds that one point covers: whole minutes.' }),
  feeder: z.string().optional().meta({
    description:
      'Name of a feeder of the location: `phases` are the currents through it. Left out: those of all chargers.',
  }),
});
export type PowerQuery = z.output<typeof powerQuerySchema>;

export const streamQuerySchema = z.object({
  locationId: z.string().optional().meta({ description: 'Only events of this location.' }),
});
