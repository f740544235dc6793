// Tenants of a cluster: one if nodes stand by for each other, several if they share tenants.
import type { ControllerUuid, LocationId, TenantUuid } from '../../machines/values/ids.js';
import { shardOf } from '../../machines/values/shards.js';
import { apiKeyOf, controllerUuidOf, locationIdOf, type SiteOwner, TENANT } from './site.js';

const STANDBY_PLAN = { tenants: 1, locationsEach: 2, chargersEach: 8, limitKw: 60 };
const SHARDED_PLAN = { tenants: 8, locationsEach: 1, chargersEach: 2, limitKw: 20 };
export type Plan = typeof STANDBY_PLAN;

export function planOf(isSharded: boolean): Plan {
  return isSharded ? SHARDED_PLAN : STANDBY_PLAN;
}

/** A location of the cluster, with the credential of its client. Ids are unique across tenants. */
export interface ClusterSite {
  readonly tenantUuid: TenantUuid;
  readonly apiKey: string;
  readonly locationId: LocationId;
  readonly limitKw: number;
  readonly controllers: readonly ControllerUuid[];
}

/** Each tenant belongs to a shard of its own. */
export function ownersOf({ tenants, locationsEach, chargersEach }: Plan): readonly SiteOwner[] {
  const uuids = new Map([[shardOf(TENANT), TENANT]]);
  for (let i = 0; uuids.size < tenants; i++) {
    const tenantUuid = `${String(i).padStart(8, '0')}${TENANT.slice(8)}` as TenantUuid;
    if (!uuids.has(shardOf(tenantUuid))) uuids.set(shardOf(tenantUuid), tenantUuid);
  }
  return [...uuids.values()].map((tenantUuid, i) => ({
    tenantUuid,
    keyId: `bench${String(i + 1).padStart(3, '0')}`,
    firstLocation: i * locationsEach,
    firstCharger: i * locationsEach * chargersEach,
  }));
}

export function sitesOf(
  owner: SiteOwner,
  { locationsEach, chargersEach, limitKw }: Plan,
): readonly ClusterSite[] {
  const { tenantUuid, firstLocation, firstCharger } = owner;
  return Array.from({ length: locationsEach }, (_, i) => ({
    tenantUuid,
    apiKey: apiKeyOf(owner),
    limitKw,
    locationId: locationIdOf(firstLocation + i),
    controllers: Array.from({ length: chargersEach }, (__, n) =>
      controllerUuidOf(firstCharger + i * chargersEach + n),
    ),
  }));
}
