// Limits of locations, connectors and the organization over time: requests, answers, and their past.
import { z } from 'zod';
import 'zod-openapi';
import { errorEnvelopeSchema } from '../../wire/error-envelope.js';
import { instantSchema, limitKwSchema, prioritySchema } from '../../wire/rest.js';
import { nextCursorSchema, spanShape } from '../../wire/spans.js';

export const profileRequestSchema = z
  .object({
    startTime: instantSchema.meta({ description: 'First instant of the window (inclusive).' }),
    endTime: instantSchema.meta({
      description: 'End of the window (exclusive); after startTime and in the future.',
    }),
    limitKw: limitKwSchema,
    priority: prioritySchema.default(0).meta({ description: '0 (lowest) to 10 (highest).' }),
  })
  .meta({
    id: 'LimitProfileRequest',
    examples: [
      { priority: 5, limitKw: 22, startTime: '2030-06-01T17:00:00Z', endTime: '2030-06-01T19:00:00Z' },
    ],
  });
export type ProfileRequest = z.output<typeof profileRequestSchema>;

const profileStatusSchema = z.enum(['SCHEDULED', 'ACTIVE', 'EXPIRED']).meta({ id: 'ProfileStatus' });

export const profileViewSchema = z
  .object({
    priority: z.number().int(),
    limitKw: z.number(),
    startTime: instantSchema,
    endTime: instantSchema,
    status: profileStatusSchema,
  })
  .meta({ id: 'Profile' });
export type ProfileView = z.output<typeof profileViewSchema>;

export const permanentLimitRequestSchema = z
  .object({ limitKw: limitKwSchema })
  .meta({ id: 'PermanentLimitRequest', examples: [{ limitKw: 42.5 }] });

export const locationScheduleSchema = z
  .object({
    locationId: z.string(),
    ...profileViewSchema.shape,
    permanentLimitKw: z.number(),
    effectiveLimitKw: z.number(),
  })
  .meta({ id: 'LocationSchedule' });
export type LocationSchedule = z.output<typeof locationScheduleSchema>;

export const locationLimitsSchema = z
  .object({
    locationId: z.string(),
    permanentLimitKw: z.number(),
    effectiveLimitKw: z.number(),
    profiles: z.array(profileViewSchema),
  })
  .meta({ id: 'LocationLimits' });
export type LocationLimits = z.output<typeof locationLimitsSchema>;

export const permanentLimitSchema = z
  .object({ locationId: z.string(), permanentLimitKw: z.number(), effectiveLimitKw: z.number() })
  .meta({ id: 'PermanentLimit' });

export const connectorScheduleSchema = z
  .object({
    controllerUuid: z.string(),
    connectorId: z.string(),
    limitKw: z.number(),
    startTime: instantSchema,
    endTime: instantSchema,
    status: profileStatusSchema,
  })
  .meta({ id: 'ConnectorSchedule' });

export const organizationScheduleSchema = z
  .object({ tenantUuid: z.string(), ...profileViewSchema.shape, note: z.string() })
  .meta({ id: 'OrganizationSchedule' });

export const organizationLimitsSchema = z
  .object({ tenantUuid: z.string(), profiles: z.array(profileViewSchema), note: z.string() })
  .meta({ id: 'OrganizationLimits' });
export type OrganizationLimits = z.output<typeof organizationLimitsSchema>;

// The answer of a cluster schedule (contract 4.1, endpoint 13): partial success, an envelope for each failed member.
export const clusterScheduleSchema = z
  .object({
    clusterId: z.string(),
    applied: z.array(locationScheduleSchema),
    errors: z.array(z.object({ locationId: z.string(), error: errorEnvelopeSchema })),
    totalLocations: z.number().int(),
  })
  .meta({ id: 'ClusterSchedule' });
export type ClusterSchedule = z.output<typeof clusterScheduleSchema>;

// Answers to a cancellation: the profile as it ended. An extension of the contract.
const ending = {
  status: profileStatusSchema.meta({
    description: 'Status at its cancellation: SCHEDULED or ACTIVE.',
  }),
  supersededAt: instantSchema.meta({ description: 'Instant of its cancellation.' }),
};

export const cancelledLocationScheduleSchema = z
  .object({ ...locationScheduleSchema.shape, ...ending })
  .meta({ id: 'CancelledLocationSchedule' });

export const cancelledConnectorScheduleSchema = z
  .object({ ...connectorScheduleSchema.shape, priority: prioritySchema, ...ending })
  .meta({ id: 'CancelledConnectorSchedule' });

export const cancelledOrganizationScheduleSchema = z
  .object({ ...organizationScheduleSchema.shape, ...ending })
  .meta({ id: 'CancelledOrganizationSchedule' });

export const connectorSchedulesSchema = z
  .object({
    controllerUuid: z.string(),
    connectorId: z.string(),
    locationId: z.string(),
    lockLimitKw: z.number().nullable(),
    profiles: z.array(profileViewSchema),
  })
  .meta({ id: 'ConnectorSchedules' });
export type ConnectorSchedules = z.output<typeof connectorSchedulesSchema>;

/** `at` of the answers that list a target's profiles. */
export const asOfQuerySchema = z.object({
  at: instantSchema.optional().meta({
    description:
      'Extension: the answer as of this instant, from profiles submitted by then, and not replaced or cancelled. Without it, now.',
  }),
});

const submissionSchema = z
  .object({
    priority: prioritySchema,
    limitKw: z.number(),
    startTime: instantSchema,
    endTime: instantSchema,
    submittedAt: instantSchema,
    supersededAt: instantSchema
      .nullable()
      .meta({ description: 'Instant at which it was replaced or cancelled; null while it holds its slot.' }),
  })
  .meta({ id: 'Submission' });
export type Submission = z.output<typeof submissionSchema>;

const submissions = z
  .array(submissionSchema)
  .meta({ description: 'Submissions whose window meets the span, in the order of their receipt.' });

export const locationHistorySchema = z
  .object({
    locationId: z.string(),
    ...spanShape,
    submissions,
    permanentLimits: z
      .array(z.object({ limitKw: z.number(), setAt: instantSchema }))
      .meta({ description: 'The limit in force at `from`, and every limit set until `to`.' }),
    nextCursor: nextCursorSchema,
  })
  .meta({ id: 'LocationHistory' });
export type LocationHistory = z.output<typeof locationHistorySchema>;

export const connectorHistorySchema = z
  .object({
    controllerUuid: z.string(),
    connectorId: z.string(),
    locationId: z.string(),
    ...spanShape,
    submissions,
    nextCursor: nextCursorSchema,
  })
  .meta({ id: 'ConnectorHistory' });
export type ConnectorHistory = z.output<typeof connectorHistorySchema>;

export const organizationHistorySchema = z
  .object({
    tenantUuid: z.string(),
    ...spanShape,
    submissions,
    nextCursor: nextCursorSchema,
    note: z.string(),
  })
  .meta({ id: 'OrganizationHistory' });
export type OrganizationHistory = z.output<typeof organizationHistorySchema>;
