// A database with an owner for each shard of its tenants: its members, the owners, and a store for each shard.
import type { TenantUuid } from '../../machines/values/ids.js';
import type { Shard } from '../../machines/values/shards.js';
import type { Holder } from './ownership.js';
import type { Store } from './store.js';

/** A node that gets shards. */
export interface Member extends Holder {
  /** Shards that it failed to run: another node gets them, if one can run them. */
  readonly declined: readonly Shard[];
}

/** Members and owners at one instant of the database's clock. */
export interface ClusterView {
  readonly members: readonly Member[];
  /** By shard; undefined without an owner. */
  readonly holders: readonly (Holder | undefined)[];
}

/** The membership of this node in the group of one database. */
export interface Membership {
  /**
   * Makes this node a member for the length of a lease. It gets shards, except the declined ones.
   * @throws ClockDifferenceError if this node's clock is wrong.
   * @throws StoreUnavailableError
   */
  join(declined: readonly Shard[]): Promise<void>;
  /** Renews the lease. @throws StoreUnavailableError */
  renew(declined: readonly Shard[]): Promise<void>;
  /** This node gets no more shards. */
  leave(): Promise<void>;
  /** @throws StoreUnavailableError */
  view(): Promise<ClusterView>;
}

/** A database whose shards are owned by nodes. One that is not divided has a single shard. */
export interface SharedDatabase {
  readonly shards: readonly Shard[];
  shardOf(tenantUuid: TenantUuid): Shard;
  readonly membership: Membership;
  /** All tenants. It writes only the last use of credentials, which no owner of a shard holds in memory. */
  readonly common: Pick<
    Store,
    'loadCredentials' | 'revisionSince' | 'glanceAtTenant' | 'ping' | 'noteCredentialUses'
  >;
  /** The tenants of one shard, as if there were no others; it has an owner of its own. The same object each time. */
  shard(shard: Shard): Store;
  /** Writes all accepted changes, then closes. */
  close(): Promise<void>;
}
