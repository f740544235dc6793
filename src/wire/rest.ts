// The REST bodies: one zod schema each, from which types, validation and OpenAPI are all taken.
import { z } from 'zod';
import 'zod-openapi';
import { HIGHEST_PRIORITY } from '../../machines/profile-stack.js';

// RFC 3339 in UTC: `Z` or `+00:00`; an hour 24, and a date the calendar does not know (30 February), are refused too.
const INSTANT = /^\d{4}-\d{2}-\d{2}[Tt]([01]\d|2[0-3]):\d{2}:\d{2}(\.\d+)?([Zz]|\+00:00)$/;

function isInstant(text: string): boolean {
  if (!INSTANT.test(text)) return false;
  const parsed = Date.parse(text.toUpperCase());
  if (Number.isNaN(parsed)) return false;
  return Number(text.slice(8, 10)) === Number(toInstant(parsed).slice(8, 10));
}

/** An instant as the contract writes it: UTC, milliseconds, `Z`. */
export function toInstant(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

/** Epoch milliseconds of an instant that passed `instantSchema`; a finer fraction is cut. */
export function fromInstant(text: string): number {
  return Date.parse(text.toUpperCase());
}

export const instantSchema = z
  .string()
  .refine(isInstant, 'must be an RFC 3339 date-time in UTC, such as 2026-06-01T17:00:00Z')
  .meta({ id: 'Instant', format: 'date-time', example: '2026-06-01T17:00:00.000Z' });

const limitKwSchema = z.number().gt(0).meta({ description: 'Power limit in kW.', example: 42.5 });

export const prioritySchema = z
  .number()
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
  .meta({ id: 'LimitProfileRequest' });
export type ProfileRequest = z.output<typeof profileRequestSchema>;

export const permanentLimitRequestSchema = z
  .object({ limitKw: limitKwSchema })
  .meta({ id: 'PermanentLimitRequest' });

export const profileStatusSchema = z.enum(['SCHEDULED', 'ACTIVE', 'EXPIRED']).meta({ id: 'ProfileStatus' });

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

// ---------------------------------------------------------------- clusters

export const STORABLE_RULE = 'must not contain the NUL character or half a surrogate pair';

/** Whether every database stores `text` as it is: PostgreSQL takes no NUL, and UTF-8 has no lone surrogate. */
export function isStorable(text: string): boolean {
  return !text.includes('\0') && !/\p{Surrogate}/u.test(text);
}

const clusterNameSchema = z.string().min(1).max(200).refine(isStorable, STORABLE_RULE);
const clusterStatusSchema = z.enum(['ACTIVE', 'INACTIVE']);
const memberIdsSchema = z.array(z.string()).max(1000);

export const createClusterRequestSchema = z
  .object({
    name: clusterNameSchema,
    locationIds: memberIdsSchema.min(1),
    limitKw: limitKwSchema.nullish(),
  })
  .meta({ id: 'CreateClusterRequest' });
export type CreateClusterRequest = z.output<typeof createClusterRequestSchema>;

export const updateClusterRequestSchema = z
  .object({
    name: clusterNameSchema.optional(),
    // An empty list is well-formed; the domain refuses it with CLUSTER_EMPTY.
    locationIds: memberIdsSchema.optional(),
    limitKw: limitKwSchema.nullable().optional(),
    status: clusterStatusSchema.optional(),
  })
  .meta({ id: 'UpdateClusterRequest' });
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

/** Beyond the contract, and only where there is something to say. */
const estimatedKwSchema = z.number().optional().meta({
  description: 'How much of it silent connectors count with; left out where everything is measured.',
});

export const liveStatusSchema = z
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
