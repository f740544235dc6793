// Cluster membership of this node: keeps its lease, assigns shards to live nodes, and tracks the owner of each shard.
import { assignShards, type Shard } from '../../machines/values/shards.js';
import type { Cancel, Clock } from '../ports/clock.js';
import type { Log } from '../ports/log.js';
import { ClockDifferenceError, type Holder } from '../ports/ownership.js';
import type { ClusterView, Membership } from '../ports/shared-database.js';
import { createRareLog, type RareLog } from '../rare-log.js';

/** A database that answers this late is slow, and not down. */
const SLOW_AT_MOST_MS = 2_000;
/** Renewals of the membership in the length of a lease. */
const RENEWALS = 4;
const LOOK_EVERY_MS = 250;
/**
 * Milliseconds between looks while shards move, because requests of their
 * tenants wait. It applies for the usual time of a move.
 */
const LOOK_WHILE_MOVING_MS = 50;
const MOVING_AT_MOST_MS = 10_000;
/**
 * Shards that a node starts at the same time. With many shards, the first ones then answer before the last ones begin.
 */
const TAKEN_UP_AT_ONCE = 2;
/** After this many failed starts in a row a shard is left to another node, for this long. */
const ATTEMPTS = 3;
const DECLINED_FOR_MS = 600_000;
/** If no other node can run the shard either, it is tried again after this time. */
const TRIED_AGAIN_AFTER_MS = 10_000;

interface MembershipOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly membership: Membership;
  readonly shards: readonly Shard[];
  readonly nodeId: string;
  readonly leaseMs: number;
}

/** Waits for a condition that each new view may fulfil. */
interface Waiter {
  readonly isDue: () => boolean;
  resolve(): void;
}

export class ShardMembership {
  readonly #options: MembershipOptions;
  readonly #rareLog: RareLog;
  readonly #waiters = new Set<Waiter>();
  #view: ClusterView = { members: [], holders: [] };
  /** The assigned node of each shard. */
  #assigned: readonly (string | undefined)[] = [];
  #isMember = false;
  #isLeaving = false;
  #isClosed = false;
  #isClockOff = false;
  #wasCutOff = false;
  /** No claim happens before: when a database is back, other nodes may be about to renew their membership. */
  #claimsFromMs = 0;
  #renewAtMs = 0;
  #viewedAtMs = Number.NEGATIVE_INFINITY;
  /** Time at which the database last showed a newly moving shard. */
  #movingSinceMs = Number.NEGATIVE_INFINITY;
  /** Shards that move now. */
  #moving: readonly Shard[] = [];
  /** Shards that this node has to claim and has not begun to run. */
  readonly #takingUp = new Set<Shard>();
  /** By shard: failed starts in a row on this node, and the time of the last one. */
  readonly #failed = new Map<Shard, { readonly times: number; readonly atMs: number }>();
  #cancel: Cancel = () => {};
  #looking: Promise<void> = Promise.resolve();

  constructor(options: MembershipOptions) {
    this.#options = options;
    this.#rareLog = createRareLog(options.clock);
  }

  /** This node gets no shard, because its clock and the database's differ. */
  get isClockOff(): boolean {
    return this.#isClockOff;
  }

  /** The owner of the shard at the last look. */
  holderOf(shard: Shard): Holder | undefined {
    return this.#view.holders[shard];
  }

  /** The view of the owners is recent. After the length of a lease, other nodes may own the shards. */
  get isInformed(): boolean {
    const { clock, leaseMs } = this.#options;
    return clock.monotonicMs() - this.#viewedAtMs < leaseMs + SLOW_AT_MOST_MS;
  }

  /** Resolves after the first look at the database, with any result. */
  start(): Promise<void> {
    this.#looking = this.#look();
    return this.#looking;
  }

  /** This node gets no more shards, and its shards go to other nodes. It continues to look. */
  async leave(): Promise<void> {
    this.#isLeaving = true;
    await this.#looking;
    await this.#leave();
  }

  /** Ends the looks. Resolves after a look under way. */
  close(): Promise<void> {
    this.#isClosed = true;
    this.#cancel();
    return this.#looking;
  }

  /** This node's clock is wrong: it is a member again once the clock is right. */
  distrustClock(): void {
    this.#isClockOff = true;
    if (this.#isMember) void this.#leave();
  }

  /**
   * Resolves once the shard is assigned to this node and has no owner, at the next look at the earliest. From then on
   * it counts as starting, until `began`, `couldNotBegin`, or another call of this method.
   */
  async awaitVacancy(shard: Shard, signal: AbortSignal): Promise<void> {
    const { clock, nodeId } = this.#options;
    this.#takingUp.delete(shard);
    await this.#until(signal, () => {
      const nowMs = clock.monotonicMs();
      if (this.#isLeaving || !this.#isMember || nowMs < this.#claimsFromMs) return false;
      if (this.#assigned[shard] !== nodeId || this.#view.holders[shard] !== undefined) return false;
      if (this.#takingUp.size >= TAKEN_UP_AT_ONCE || nowMs < this.#mayTryFromMs(shard)) return false;
      this.#takingUp.add(shard);
      return true;
    });
  }

  /** The shard runs here. */
  began(shard: Shard): void {
    this.#takingUp.delete(shard);
    this.#failed.delete(shard);
    this.#tellWaiters();
  }

  /**
   * A start of the shard failed. @returns true after so many failures that this
   * node leaves the shard to others, if there are any
   */
  couldNotBegin(shard: Shard): boolean {
    this.#takingUp.delete(shard);
    const times = (this.#failed.get(shard)?.times ?? 0) + 1;
    this.#failed.set(shard, { times, atMs: this.#options.clock.monotonicMs() });
    // The other nodes learn of it by the next look.
    this.#renewAtMs = 0;
    this.#tellWaiters();
    return times >= ATTEMPTS;
  }

  /**
   * Resolves once a shard of this node is assigned to another node and may move. Shards move one after another:
   * tenants of the next one are served here meanwhile.
   */
  awaitMove(shard: Shard, signal: AbortSignal): Promise<void> {
    return this.#until(signal, () => {
      const home = this.#homeOf(shard);
      if (home === undefined) return false;
      const forIt = this.#options.shards.filter(
        (each) => this.#assigned[each] === home && !this.#runs(home, each),
      );
      const onTheirWay = forIt.filter((each) => {
        const holder = this.#view.holders[each];
        return holder === undefined || holder.nodeId === home;
      });
      const before = forIt.filter((each) => each < shard && !onTheirWay.includes(each));
      return onTheirWay.length + before.length < (this.#isLeaving ? TAKEN_UP_AT_ONCE : 1);
    });
  }

  /** Resolves once this node owns no shard that another one could run. */
  moved(signal: AbortSignal): Promise<void> {
    return this.#until(signal, () =>
      this.#options.shards.every((shard) => this.#homeOf(shard) === undefined),
    );
  }

  /** The other node to which a shard of this node is assigned; undefined if it stays, or is not owned here. */
  #homeOf(shard: Shard): string | undefined {
    const { nodeId } = this.#options;
    const home = this.#assigned[shard];
    return this.#view.holders[shard]?.nodeId === nodeId && home !== nodeId ? home : undefined;
  }

  /** A node that has claimed a shard sets its URL once it runs the shard. */
  #runs(nodeId: string, shard: Shard): boolean {
    const holder = this.#view.holders[shard];
    return holder?.nodeId === nodeId && holder.url !== undefined;
  }

  #mayTryFromMs(shard: Shard): number {
    const failed = this.#failed.get(shard);
    return failed === undefined || failed.times < ATTEMPTS ? 0 : failed.atMs + TRIED_AGAIN_AFTER_MS;
  }

  get #declined(): readonly Shard[] {
    const fromMs = this.#options.clock.monotonicMs() - DECLINED_FOR_MS;
    return [...this.#failed].flatMap(([shard, { times, atMs }]) =>
      times >= ATTEMPTS && atMs > fromMs ? [shard] : [],
    );
  }

  #until(signal: AbortSignal, isDue: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = () => {
        this.#waiters.delete(waiter);
        signal.removeEventListener('abort', give);
      };
      const give = () => {
        end();
        reject(signal.reason);
      };
      const waiter = {
        isDue,
        resolve: () => {
          end();
          resolve();
        },
      };
      if (signal.aborted) return reject(signal.reason);
      signal.addEventListener('abort', give);
      this.#waiters.add(waiter);
    });
  }

  async #look(): Promise<void> {
    const { log } = this.#options;
    try {
      if (!this.#isLeaving) await this.#stay();
      this.#take(await this.#options.membership.view());
    } catch (error) {
      this.#wasCutOff = true;
      this.#rareLog('look', () =>
        log.warn({ err: error }, 'the live nodes could not be read from the database; trying again'),
      );
    }
    this.#lookLater();
  }

  #lookLater(): void {
    if (this.#isClosed) return;
    const { clock } = this.#options;
    const isMoving = this.#moving.length > 0 && clock.monotonicMs() - this.#movingSinceMs < MOVING_AT_MOST_MS;
    this.#cancel = clock.after(isMoving ? LOOK_WHILE_MOVING_MS : LOOK_EVERY_MS, () => {
      this.#looking = this.#look();
    });
  }

  /** Renews the membership of this node when due. */
  async #stay(): Promise<void> {
    const { clock, membership, leaseMs, log } = this.#options;
    const nowMs = clock.monotonicMs();
    if (this.#isMember && nowMs < this.#renewAtMs) return;
    try {
      await (this.#isMember ? membership.renew(this.#declined) : membership.join(this.#declined));
    } catch (error) {
      if (!(error instanceof ClockDifferenceError)) throw error;
      this.#isClockOff = true;
      this.#rareLog('clock', () => log.error({ err: error }, 'this node receives no tenants'));
      return;
    }
    this.#isMember = true;
    this.#isClockOff = false;
    this.#renewAtMs = nowMs + leaseMs / RENEWALS;
  }

  async #leave(): Promise<void> {
    this.#isMember = false;
    await this.#options.membership
      .leave()
      .catch((error) => this.#options.log.warn({ err: error }, 'the lease of this node ends by itself'));
  }

  #take(view: ClusterView): void {
    const { clock, leaseMs, nodeId, shards } = this.#options;
    this.#view = view;
    this.#viewedAtMs = clock.monotonicMs();
    const isAlone = view.members.every((member) => member.nodeId === nodeId);
    if (this.#wasCutOff && isAlone)
      this.#claimsFromMs = clock.monotonicMs() + leaseMs / RENEWALS + LOOK_EVERY_MS;
    this.#wasCutOff = false;
    this.#assigned = assignShards(
      view.holders.map((holder) => holder?.nodeId),
      view.members.map((member) => member.nodeId),
      new Map(view.members.map((member) => [member.nodeId, member.declined])),
    );
    const moving = shards.filter((shard) => !this.#isSettled(shard));
    if (moving.some((shard) => !this.#moving.includes(shard))) this.#movingSinceMs = this.#viewedAtMs;
    this.#moving = moving;
    this.#tellWaiters();
  }

  /** The shard runs on its assigned node. */
  #isSettled(shard: Shard): boolean {
    const home = this.#assigned[shard];
    return home !== undefined && this.#runs(home, shard);
  }

  #tellWaiters(): void {
    for (const waiter of [...this.#waiters]) if (waiter.isDue()) waiter.resolve();
  }
}
