// The REST bodies: one zod schema each, the source of types, validation and OpenAPI.

import { z } from 'zod';
import 'zod-openapi';
import { HIGHEST_PRIORITY } from '../../machines/limits/profile-stack.js';
import { errorEnvelopeSchema } from './error-envelope.js';
import { mustBe, mustBeText } from './plain-errors.js';

/** The last instant with four digits for the year, and so the last that is allowed. */
export const LAST_INSTANT_MS = Date.parse('9999-12-31T23:59:59.999Z');

// One pattern is the whole rule: so clients generated from OpenAPI refuse the same texts as the service. It has no
// look-around, which some languages lack. A date before 1970 is usually a default value. `Date` has no leap second.
const YEAR = '(19[7-9]\\d|[2-9]\\d{3})';
const LEAP_YEAR =
  '(19(7[26]|8[048]|9[26])|[2-9]\\d(0[48]|[2468][048]|[13579][26])|([2468][048]|[3579][26])00)';
const DAY_OF_ANY_YEAR =
  '((0[13578]|1[02])-(0[1-9]|[12]\\d|3[01])|(0[469]|11)-(0[1-9]|[12]\\d|30)|02-(0[1-9]|1\\d|2[0-8]))';
const TIME = '([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d+)?';
const INSTANT = new RegExp(`^(${YEAR}-${DAY_OF_ANY_YEAR}|${LEAP_YEAR}-02-29)[Tt]${TIME}([Zz]|\\+00:00)$`);

const INSTANT_RULE = 'an RFC 3339 date-time in UTC from 1970 to 9999, such as 2026-06-01T17:00:00Z';

export const instantSchema = z
  .string(mustBeText(INSTANT_RULE))
  .regex(INSTANT, `must be ${INSTANT_RULE}`)
  .meta({
    id: 'Instant',
    format: 'date-time',
    description: 'RFC 3339 in UTC (`Z` or `+00:00`), from 1970 to 9999, no leap second.',
    example: '2026-06-01T17:00:00.000Z',
  });

/** A gigawatt: far above any site's connection, and far below the size at which sums of limits lose precision. */
export const MOST_LIMIT_KW = 1_000_000;
export const LIMIT_KW_RULE = `a number greater than 0 and at most ${MOST_LIMIT_KW}, in kW`;

function powerSchema(rule: string) {
  return z
    .number(mustBe(rule))
    .gt(0)
    .max(MOST_LIMIT_KW)
    .meta({ description: 'Power limit in kW.', example: 42.5 });
}

const limitKwSchema = powerSchema(LIMIT_KW_RULE);

export const PRIORITY_RULE = `a whole number from 0 to ${HIGHEST_PRIORITY}`;

export const prioritySchema = z
  .number(mustBe(PRIORITY_RULE))
  .int()
  .min(0)
  .max(HIGHEST_PRIORITY)
  .meta({ description: '0 (lowest) to 10 (highest).' });

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

export const permanentLimitRequestSchema = z
  .object({ limitKw: limitKwSchema })
  .meta({ id: 'PermanentLimitRequest', examples: [{ limitKw: 42.5 }] });

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
export type PermanentLimit = z.output<typeof permanentLimitSchema>;

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
export type ConnectorSchedule = z.output<typeof connectorScheduleSchema>;

export const organizationScheduleSchema = z
  .object({ tenantUuid: z.string(), ...profileViewSchema.shape, note: z.string() })
  .meta({ id: 'OrganizationSchedule' });
export type OrganizationSchedule = z.output<typeof organizationScheduleSchema>;

export const organizationLimitsSchema = z
  .object({ tenantUuid: z.string(), profiles: z.array(profileViewSchema), note: z.string() })
  .meta({ id: 'OrganizationLimits' });
export type OrganizationLimits = z.output<typeof organizationLimitsSchema>;

export const STORABLE_RULE = 'must not contain the NUL character or half a surrogate pair';

/** Every database stores `text` unchanged: PostgreSQL takes no NUL, and UTF-8 has no lone surrogate. */
export function isStorable(text: string): boolean {
  return !text.includes('\0') && !/\p{Surrogate}/u.test(text);
}

/**
 * Text of 1 to `most` characters that every database stores. Characters are code points, as JSON Schema counts them.
 */
export function textSchema(most: number) {
  const rule = `text of 1 to ${most} characters`;
  return z.string(mustBeText(rule)).regex(new RegExp(`^[^\\u0000\\uD800-\\uDFFF]{1,${most}}$`, 'u'), {
    error: ({ input }) =>
      typeof input === 'string' && !isStorable(input) ? STORABLE_RULE : `must be ${rule}`,
  });
}

const clusterNameSchema = textSchema(200);
const clusterStatusSchema = z.enum(['ACTIVE', 'INACTIVE'], mustBeText('ACTIVE or INACTIVE'));
const memberIdsSchema = z
  .array(z.string(mustBeText('the id of a location')), mustBe('a list of 1 to 1000 ids of locations'))
  .max(1000);

const capSchema = powerSchema(`${LIMIT_KW_RULE}, or null for no cap`);

export const createClusterRequestSchema = z
  .object({
    name: clusterNameSchema,
    locationIds: memberIdsSchema.min(1),
    limitKw: capSchema.nullish(),
  })
  .meta({
    id: 'CreateClusterRequest',
    examples: [
      { name: 'Harbour', locationIds: ['quay-1', 'quay-2'], limitKw: 90 },
      { name: 'No cap yet', locationIds: ['quay-1'] },
    ],
  });
export type CreateClusterRequest = z.output<typeof createClusterRequestSchema>;

const CHANGEABLE = ['name', 'limitKw', 'locationIds', 'status'] as const;

export const updateClusterRequestSchema = z
  .object({
    name: clusterNameSchema.optional(),
    // An empty list is well-formed; the domain refuses it with CLUSTER_EMPTY.
    locationIds: memberIdsSchema.optional(),
    limitKw: capSchema.nullable().optional(),
    status: clusterStatusSchema.optional(),
  })
  .refine(
    (change) => Object.keys(change).length > 0,
    'must have at least one of name, limitKw, locationIds and status',
  )
  .meta({
    id: 'UpdateClusterRequest',
    examples: [{ limitKw: 80 }, { limitKw: null }, { locationIds: ['quay-1'], status: 'INACTIVE' }],
    anyOf: CHANGEABLE.map((name) => ({ required: [name] })),
  });
export type UpdateClusterRequest = z.output<typeof updateClusterRequestSchema>;

export const clusterSchema = z
  .object({
    clusterId: z.string(),
    tenantUuid: z.string(),
    name: z.string(),
    locationIds: z.array(z.string()),
    limitKw: z.number().nullable(),
    status: clusterStatusSchema,
    createdAt: instantSchema,
    updatedAt: instantSchema,
  })
  .meta({ id: 'Cluster' });
export type Cluster = z.output<typeof clusterSchema>;

export const clusterListSchema = z
  .object({ clusters: z.array(clusterSchema), count: z.number().int() })
  .meta({ id: 'ClusterList' });
export type ClusterList = z.output<typeof clusterListSchema>;

/** An extension of the contract, present only with estimated power. */
const estimatedKwSchema = z.number().optional().meta({
  description: 'Estimated part of it, for silent connectors; left out if everything is measured.',
});

const liveStatusSchema = z
  .object({
    actualTotalKw: z.number(),
    estimatedTotalKw: estimatedKwSchema,
    clusterLimitKw: z.number().nullable(),
    sumLocationLimits: z.number(),
    withinLimit: z.boolean(),
    locations: z.array(
      z.object({
        locationId: z.string(),
        setLimitKw: z.number(),
        effectiveLimitKw: z.number(),
        actualKw: z.number(),
        estimatedKw: estimatedKwSchema,
      }),
    ),
  })
  .meta({ id: 'ClusterLiveStatus' });

export const clusterDetailSchema = z
  .object({ ...clusterSchema.shape, liveStatus: liveStatusSchema })
  .meta({ id: 'ClusterDetail' });
export type ClusterDetail = z.output<typeof clusterDetailSchema>;

export const clusterDeletedSchema = z
  .object({ deleted: z.boolean(), clusterId: z.string() })
  .meta({ id: 'ClusterDeleted' });
export type ClusterDeleted = z.output<typeof clusterDeletedSchema>;

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
export type CancelledLocationSchedule = z.output<typeof cancelledLocationScheduleSchema>;

export const cancelledConnectorScheduleSchema = z
  .object({ ...connectorScheduleSchema.shape, priority: prioritySchema, ...ending })
  .meta({ id: 'CancelledConnectorSchedule' });
export type CancelledConnectorSchedule = z.output<typeof cancelledConnectorScheduleSchema>;

export const cancelledOrganizationScheduleSchema = z
  .object({ ...organizationScheduleSchema.shape, ...ending })
  .meta({ id: 'CancelledOrganizationSchedule' });
export type CancelledOrganizationSchedule = z.output<typeof cancelledOrganizationScheduleSchema>;
