// Which node owns the database, or a shard of its tenants: that one writes, decides and speaks to the chargers.

/** The node that owns the database, or a shard. */
export interface Holder {
  readonly nodeId: string;
  /** Where other nodes reach its REST side; undefined where it names none, or has yet to begin what it owns. */
  readonly url: string | undefined;
}

/** Another node owns the database, and its lease has not ended. */
export class NotVacantError extends Error {}

/** This node's clock and the database's differ by too much for windows to begin when they should. */
export class ClockDifferenceError extends Error {}

/**
 * Ownership of one database, or of one shard of it, as this node sees it. With a lease, an owner that does not renew in time has lost it; without one,
 * it lasts until another node claims the database.
 */
export interface Ownership {
  /**
   * Resolves once nobody owns the database: its owner released it, let its lease end, or, where it holds no lease, is gone.
   * Waits on while the database cannot be reached. Rejects with the signal's reason once that is aborted.
   */
  awaitVacancy(signal: AbortSignal): Promise<void>;
  /**
   * Makes this node the owner and gives its term, which is higher than that of every owner before. From then on no owner before
   * it can write. Ends what sessions the owner before has left, and is tried again for a while where that one holds it up.
   * @throws NotVacantError where nodes hold leases, and another's has not ended.
   * @throws ClockDifferenceError where nodes hold leases, and this node's clock is off.
   * @throws StoreUnavailableError
   */
  claim(): Promise<number>;
  /**
   * What is owned runs now: from here on the holder has a URL, so that other nodes send it requests. Of the whole database it has
   * one from the claim on, because who stands by waits for it anyway.
   * @throws StoreUnavailableError, and then the next renewal tells it.
   */
  announce(): Promise<void>;
  /**
   * Whether this node still owns the database; its lease, if any, then counts anew. False once another claimed it.
   * @throws StoreUnavailableError
   */
  renew(): Promise<boolean>;
  /** Gives the database up, so that another node may claim it at once. Does nothing where this node does not own it. */
  release(): Promise<void>;
  /** Who owns the database now; undefined where nobody does. */
  holder(): Promise<Holder | undefined>;
}

/** What a node may still do as the owner of something. */
export interface Held {
  /** Whether no other node can own it now: it may tell chargers something. */
  isHeld(): boolean;
  /** Whether it answers requests. Long after its lease has ended another node may own it, and what is known here may be out of date. */
  mayAnswer(): boolean;
}
