// Clusters of locations: requests and answers.
import { z } from 'zod';
import 'zod-openapi';
import { mustBe, mustBeText } from '../../wire/plain-errors.js';
import { instantSchema, LIMIT_KW_RULE, powerSchema, textSchema } from '../../wire/rest.js';

const clusterNameSchema = textSchema(200);

const clusterStatusSchema = z.enum(['ACTIVE', 'INACTIVE'], mustBeText('ACTIVE or INACTIVE'));

const memberIdsSchema = z
  .array(z.string(mustBeText('the id of a location')), mustBe('a list of 1 to 10,000 ids of locations'))
  .max(10_000);

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
