// A database whose tenants several nodes share: which nodes live, who owns each shard, and a store for each.
import type { Shard } from '../../machines/values/shards.js';
import type { Holder } from './ownership.js';
import type { Store } from './store.js';

/** A node that shards are given to. */
export interface Member extends Holder {
  /** Shards that it tried to run and could not: they are for others, where one of these can. */
  readonly declined: readonly Shard[];
}

/** Who lives, and who owns what, at one instant of the database's clock. */
export interface ClusterView {
  readonly members: readonly Member[];
  /** By shard; undefined where nobody owns it. */
  readonly holders: readonly (Holder | undefined)[];
}

/** This node among those that share the tenants of one database. */
export interface Membership {
  /**
   * Makes this node one of those that shards are given to, but for those that it declines; it is one for as long as a lease lasts.
   * @throws ClockDifferenceError where this node's clock is off.
   * @throws StoreUnavailableError
   */
  join(declined: readonly Shard[]): Promise<void>;
  /** Its lease counts anew. @throws StoreUnavailableError */
  renew(declined: readonly Shard[]): Promise<void>;
  /** No shard is given to this node any more. */
  leave(): Promise<void>;
  /** @throws StoreUnavailableError */
  view(): Promise<ClusterView>;
}

/** A database whose tenants several nodes share. */
export interface SharedDatabase {
  readonly membership: Membership;
  /** All tenants. Of them it writes the last use of credentials alone, which no owner of a shard holds in memory. */
  readonly common: Pick<
    Store,
    'loadCredentials' | 'revisionSince' | 'glanceAtTenant' | 'ping' | 'noteCredentialUses'
  >;
  /** The tenants of one shard, as if there were no others; it has an owner of its own. The same object each time. */
  shard(shard: Shard): Store;
  /** Writes what was accepted, then closes. */
  close(): Promise<void>;
}
