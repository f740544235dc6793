// Locations with their main figures, and their limits in force over time.
import { z } from 'zod';
import { HIGHEST_PRIORITY } from '../../../machines/limits/profile-stack.js';
import { gridLimitCauseSchema } from '../../wire/limit-cause.js';
import { mustBeText } from '../../wire/plain-errors.js';
import {
  drawnPowerShape,
  instantSchema,
  LIMIT_KW_RULE,
  MOST_LIMIT_KW,
  operatingStatusSchema,
  PRIORITY_RULE,
} from '../../wire/rest.js';
import { digits, spanParameters } from '../../wire/spans.js';

export const locationSummarySchema = z
  .object({
    locationId: z.string(),
    name: z.string(),
    status: operatingStatusSchema,
    permanentLimitKw: z.number(),
    effectiveLimitKw: z.number(),
    gridLimitKw: z.number().meta({
      description:
        "The limit in force: the smallest of effective limit, cluster shares, the grid operator's limit, peak shaving, and the physical connection, less the building.",
    }),
    ...drawnPowerShape,
    connectors: z.number().int(),
    silentConnectors: z.number().int(),
    lockedConnectors: z.number().int(),
    openAlarms: z.number().int(),
  })
  .meta({ id: 'LocationSummary' });
export type LocationSummary = z.output<typeof locationSummarySchema>;

export const locationListSchema = z
  .object({
    locations: z.array(locationSummarySchema),
    count: z.number().int().meta({ description: 'Locations of the tenant, on all pages.' }),
    nextCursor: z.string().nullable(),
  })
  .meta({ id: 'LocationList' });
export type LocationList = z.output<typeof locationListSchema>;

// The limits that apply to a location over time, with their cause: one row
// for each stretch. An extension of the contract.
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
