// The two tenants that the clients write to, and the names of their slots. The ids inside both tenants are the same.
import type { ProvisionedTenant } from '../../src/ports/administration.js';
import { HARBOUR, RIVAL, site, tenantWith } from '../service/running-service.js';

export const TENANTS = [HARBOUR, RIVAL] as const;
export type Tenant = (typeof TENANTS)[number];

export const SITES = ['site-0', 'site-1', 'site-2', 'site-3', 'site-4', 'site-5'] as const;
/**
 * The members of the cluster that receives schedules. The cluster never changes, and only schedules use its priority.
 */
export const FLEET = SITES.slice(0, 4);
export const FLEET_PRIORITY = 10;
/** The members of another such cluster. Clients write to its slots one by one as well. */
export const OTHERS = SITES.slice(3);

/** Not a whole number, because clients write whole numbers only. */
export const PERMANENT_LIMIT_KW = 0.5;

export const PROVISIONED: readonly ProvisionedTenant[] = TENANTS.map((tenantUuid) =>
  tenantWith(
    tenantUuid,
    SITES.map((id) => site(id, { permanentLimitKw: PERMANENT_LIMIT_KW })),
  ),
);

export interface ClusterView {
  readonly clusterId: string;
  readonly name: string;
  readonly locationIds: readonly string[];
  readonly limitKw: number | null;
  readonly status: 'ACTIVE' | 'INACTIVE';
}

/** The name of the slot that each kind of write changes. */
export const slot = {
  location: (tenant: Tenant, locationId: string, priority: number) =>
    `${tenant}/location/${locationId}/${priority}`,
  permanentLimit: (tenant: Tenant, locationId: string) => `${tenant}/location/${locationId}/permanent`,
  connector: (tenant: Tenant, controllerUuid: string, connectorId: string, priority: number) =>
    `${tenant}/connector/${controllerUuid}/${connectorId}/${priority}`,
  organization: (tenant: Tenant, priority: number) => `${tenant}/organization/${priority}`,
  cluster: (tenant: Tenant, name: string) => `${tenant}/cluster/${name}`,
  member: (tenant: Tenant, name: string, locationId: string) => `${tenant}/cluster/${name}/${locationId}`,
} as const;

/** Many clients remove members of this cluster at once, so each member is a slot of its own. */
export const CROWD = 'crowd';

/** The values of a cluster's slots. */
export function clusterValues(
  tenant: Tenant,
  cluster: Omit<ClusterView, 'clusterId'>,
): Record<string, string> {
  const { name, locationIds, limitKw, status } = cluster;
  if (!name.startsWith(CROWD)) {
    return { [slot.cluster(tenant, name)]: JSON.stringify({ locationIds, limitKw, status }) };
  }
  return Object.fromEntries(
    SITES.map((id) => [slot.member(tenant, name, id), locationIds.includes(id) ? 'in' : 'out']),
  );
}
