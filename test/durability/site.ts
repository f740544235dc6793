// The two tenants whose data is fought over, and how their slots are called; the ids of both are the same.
import type { ProvisionedTenant } from '../../src/ports/administration.js';
import { HARBOUR, RIVAL, site, tenantWith } from '../service/running-service.js';

export const TENANTS = [HARBOUR, RIVAL] as const;
export type Tenant = (typeof TENANTS)[number];

export const SITES = ['site-0', 'site-1', 'site-2', 'site-3', 'site-4', 'site-5'] as const;
/** The members of the cluster that schedules are sent to; it never changes, and nothing else writes at its priority. */
export const FLEET = SITES.slice(0, 4);
export const FLEET_PRIORITY = 10;
/** The members of another such cluster, whose slots are written to one by one as well. */
export const OTHERS = SITES.slice(3);

/** A value no client writes: theirs are whole numbers. */
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

/** Where each kind of write goes. */
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

/** A cluster that shrinks from all sides: its members are slots of their own. */
export const CROWD = 'crowd';

/** What a cluster's slots hold. */
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
