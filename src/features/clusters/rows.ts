// Clusters and their members, in the order in which the members were given.
import type { Knex } from 'knex';
import type { ClusterId, LocationId, TenantUuid } from '../../../machines/values/ids.js';
import { type Columns, type KeyedTable, putRows } from '../../outbound/knex/json-rows.js';
import type { ClusterRecord, OperatingStatus } from '../../ports/records.js';
import type { ChangeOf } from '../../ports/store.js';

interface ClusterRow {
  readonly cluster_id: ClusterId;
  readonly name: string;
  readonly limit_kw: number | null;
  readonly status: OperatingStatus;
  readonly created_at_ms: number;
  readonly updated_at_ms: number;
}

interface MemberRow {
  readonly cluster_id: ClusterId;
  readonly location_id: LocationId;
}

const CLUSTERS = {
  name: 'clusters',
  key: ['tenant_uuid', 'cluster_id'],
  columns: {
    tenant_uuid: 'text',
    cluster_id: 'text',
    name: 'text',
    limit_kw: 'double precision',
    status: 'text',
    created_at_ms: 'bigint',
    updated_at_ms: 'bigint',
  },
} as const satisfies KeyedTable<Columns>;

const MEMBERS = {
  name: 'cluster_members',
  key: ['tenant_uuid', 'cluster_id', 'position'],
  columns: { tenant_uuid: 'text', cluster_id: 'text', position: 'integer', location_id: 'text' },
} as const satisfies KeyedTable<Columns>;

/** In the given order. */
export async function writeClusters(
  trx: Knex.Transaction,
  changes: readonly ChangeOf<'cluster.put' | 'cluster.delete'>[],
): Promise<void> {
  for (const change of changes) {
    const { tenantUuid } = change;
    if (change.kind === 'cluster.put') await putCluster(trx, tenantUuid, change.cluster);
    // A cluster that the tenant does not have counts as deleted.
    else await trx('clusters').where({ tenant_uuid: tenantUuid, cluster_id: change.clusterId }).delete();
  }
}

/** Creates or replaces a cluster with its members. Fails if a member is no location of the tenant. */
async function putCluster(
  trx: Knex.Transaction,
  tenantUuid: TenantUuid,
  cluster: ClusterRecord,
): Promise<void> {
  const key = { tenant_uuid: tenantUuid, cluster_id: cluster.clusterId };
  await putRows(trx, CLUSTERS, [
    {
      ...key,
      name: cluster.name,
      limit_kw: cluster.limitKw,
      status: cluster.status,
      created_at_ms: cluster.createdAtMs,
      updated_at_ms: cluster.updatedAtMs,
    },
  ]);
  await trx('cluster_members').where(key).delete();
  await putRows(
    trx,
    MEMBERS,
    cluster.locationIds.map((location_id, position) => ({ ...key, position, location_id })),
  );
}

/** The clusters of a tenant, by id. */
export async function loadClusters(trx: Knex.Transaction, tenantUuid: TenantUuid): Promise<ClusterRecord[]> {
  const clusters: ClusterRow[] = await trx('clusters')
    .where('tenant_uuid', tenantUuid)
    .select('cluster_id', 'name', 'limit_kw', 'status', 'created_at_ms', 'updated_at_ms')
    .orderBy('cluster_id');
  const members: MemberRow[] = await trx('cluster_members')
    .where('tenant_uuid', tenantUuid)
    .select('cluster_id', 'location_id')
    .orderBy(['cluster_id', 'position']);
  const locationIds = new Map<ClusterId, LocationId[]>(clusters.map((row) => [row.cluster_id, []]));
  for (const member of members) locationIds.get(member.cluster_id)?.push(member.location_id);
  return clusters.map((row) => ({
    clusterId: row.cluster_id,
    name: row.name,
    locationIds: locationIds.get(row.cluster_id) ?? [],
    limitKw: row.limit_kw,
    status: row.status,
    createdAtMs: row.created_at_ms,
    updatedAtMs: row.updated_at_ms,
  }));
}
