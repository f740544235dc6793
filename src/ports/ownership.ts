// Ownership of the database, or of a shard of its tenants: the owner node
// writes, decides and sends limits to the chargers.

/** The node that owns the database, or a shard. */
export interface Holder {
  readonly nodeId: string;
  /** URL of its REST side for other nodes; undefined if it names none, or does not run the owned tenants yet. */
  readonly url: string | undefined;
}

/** Another node owns the database, and its lease has not ended. */
export class NotVacantError extends Error {}

/** This node's clock and the database's differ too much: windows would begin at the wrong time. */
export class ClockDifferenceError extends Error {}

/**
 * Ownership of one database, or of one shard, from the point of view of this node. An owner with a lease loses it if it
 * does not renew in time. Without a lease, ownership lasts until another node claims.
 */
export interface Ownership {
  /**
   * Makes this node the owner, and returns its ownership term, which is higher than all earlier ones. From
   * then on no earlier owner can write. The remaining sessions of the owner before are ended. If that
   * owner blocks the claim, it is repeated for a while.
   * @throws NotVacantError if nodes hold leases, and another's has not ended.
   * @throws ClockDifferenceError if nodes hold leases, and this node's clock is wrong.
   * @throws StoreUnavailableError
   */
  claim(): Promise<number>;
  /**
   * The owned tenants run now: from here on the holder has a URL, so that other nodes forward requests. A holder of the
   * whole database has one from the claim on, because standby nodes wait for it anyway.
   * @throws StoreUnavailableError; then the next renewal writes the URL.
   */
  announce(): Promise<void>;
  /**
   * Renews the lease, if there is one.
   * @returns false once another node has claimed the database
   * @throws StoreUnavailableError
   */
  renew(): Promise<boolean>;
  /** Gives the database up, so that another node may claim it at once. No effect if this node does not own it. */
  release(): Promise<void>;
  /** The present owner; undefined without one. */
  holder(): Promise<Holder | undefined>;
}

/** Rights of a node as an owner. */
export interface Held {
  /** No other node can own it now: limits may be sent to chargers. */
  isHeld(): boolean;
  /**
   * Requests may be answered. Long after the end of the lease another node
   * may own it: the state here may be out of date.
   */
  mayAnswer(): boolean;
}
