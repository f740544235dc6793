// Keeps this node among those that live, and knows which of them owns each shard, and which of them each shard is for.
import { ALL_SHARDS, assignShards, type Shard } from '../../machines/values/shards.js';
import type { Cancel, Clock } from '../ports/clock.js';
import type { Log } from '../ports/log.js';
import { ClockDifferenceError, type Holder } from '../ports/ownership.js';
import type { ClusterView, Membership } from '../ports/shared-database.js';
import { createRareLog, type RareLog } from '../rare-log.js';

/** A database that is slow is not away. */
const SLOW_AT_MOST_MS = 2_000;
/** Membership is renewed so many times in the length of a lease. */
const RENEWALS = 4;
const LOOK_EVERY_MS = 250;
/** While shards are on their way: their tenants' requests wait for that. Not for longer than it takes, if all is well. */
const LOOK_WHILE_MOVING_MS = 50;
const MOVING_AT_MOST_MS = 10_000;
/** Shards that are being taken up at one time: of many, the first then answer before the last begin. */
const TAKEN_UP_AT_ONCE = 2;
/** A shard that could not be begun so many times in a row is left to another node, for so long. */
const ATTEMPTS = 3;
const DECLINED_FOR_MS = 600_000;
/** Where no other node can run it either, it is tried again so often. */
const TRIED_AGAIN_AFTER_MS = 10_000;

interface RosterOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly membership: Membership;
  readonly nodeId: string;
  readonly leaseMs: number;
}

/** Waits for something that each new view may bring. */
interface Waiter {
  readonly isDue: () => boolean;
  resolve(): void;
}

export class Roster {
  readonly #options: RosterOptions;
  readonly #rareLog: RareLog;
  readonly #waiters = new Set<Waiter>();
  #view: ClusterView = { members: [], holders: [] };
  /** By shard, the node that it is for. */
  #assigned: readonly (string | undefined)[] = [];
  #isMember = false;
  #isLeaving = false;
  #isClosed = false;
  #isClockOff = false;
  #wasCutOff = false;
  /** Nothing is claimed before: once a database is back, all nodes may be about to say that they live. */
  #claimsFromMs = 0;
  #renewAtMs = 0;
  #viewedAtMs = Number.NEGATIVE_INFINITY;
  /** When the database last showed a shard to be on its way that was not before. */
  #movingSinceMs = Number.NEGATIVE_INFINITY;
  /** Shards that are on their way now. */
  #moving: readonly Shard[] = [];
  /** Shards that this node is told to claim and has not begun. */
  readonly #takingUp = new Set<Shard>();
  /** By shard, how often in a row it could not be begun here, and when that was last. */
  readonly #failed = new Map<Shard, { readonly times: number; readonly atMs: number }>();
  #cancel: Cancel = () => {};
  #looking: Promise<void> = Promise.resolve();

  constructor(options: RosterOptions) {
    this.#options = options;
    this.#rareLog = createRareLog(options.clock);
  }

  /** This node is given no shard, because its clock and the database's differ. */
  get isClockOff(): boolean {
    return this.#isClockOff;
  }

  /** The owner of the shard, as it was seen a moment ago. */
  holderOf(shard: Shard): Holder | undefined {
    return this.#view.holders[shard];
  }

  /** Whether the database said lately who owns what: longer ago than a lease, others may own it. */
  get isInformed(): boolean {
    const { clock, leaseMs } = this.#options;
    return clock.monotonicMs() - this.#viewedAtMs < leaseMs + SLOW_AT_MOST_MS;
  }

  /** Resolves after the first look at the database, whatever it said. */
  start(): Promise<void> {
    this.#looking = this.#look();
    return this.#looking;
  }

  /** This node is given no more shards, and others are given those that it has. It goes on looking. */
  async leave(): Promise<void> {
    this.#isLeaving = true;
    await this.#looking;
    await this.#leave();
  }

  /** Looks no more; resolves when a look under way is over. */
  close(): Promise<void> {
    this.#isClosed = true;
    this.#cancel();
    return this.#looking;
  }

  /** This node's clock was found to be off: it is a member again once it is right. */
  distrustClock(): void {
    this.#isClockOff = true;
    if (this.#isMember) void this.#leave();
  }

  /**
   * Resolves once the shard is for this node and nobody owns it, at the next look at the earliest. It is being taken up from then
   * on, until `began`, `couldNotBegin`, or this is asked again.
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

  /** What runs a shard failed to start. True where that was so often that this node leaves it to others, if there are any. */
  couldNotBegin(shard: Shard): boolean {
    this.#takingUp.delete(shard);
    const times = (this.#failed.get(shard)?.times ?? 0) + 1;
    this.#failed.set(shard, { times, atMs: this.#options.clock.monotonicMs() });
    // The others are told at the next look.
    this.#renewAtMs = 0;
    this.#tellWaiters();
    return times >= ATTEMPTS;
  }

  /**
   * Resolves once the shard, which this node owns, is for another one and it is its turn to move: while that one takes up a shard, the
   * tenants of the next go on here.
   */
  awaitMove(shard: Shard, signal: AbortSignal): Promise<void> {
    return this.#until(signal, () => {
      const home = this.#homeOf(shard);
      if (home === undefined) return false;
      const forIt = ALL_SHARDS.filter((each) => this.#assigned[each] === home && !this.#runs(home, each));
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
    return this.#until(signal, () => ALL_SHARDS.every((shard) => this.#homeOf(shard) === undefined));
  }

  /** The other node that a shard of this one is for; undefined where it is for this one, or not its own. */
  #homeOf(shard: Shard): string | undefined {
    const { nodeId } = this.#options;
    const home = this.#assigned[shard];
    return this.#view.holders[shard]?.nodeId === nodeId && home !== nodeId ? home : undefined;
  }

  /** A node that has claimed a shard names itself as its holder once it runs it. */
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
        log.warn({ err: error }, 'the database does not say which nodes live; asking again'),
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

  /** Says that this node lives, where it is time to. */
  async #stay(): Promise<void> {
    const { clock, membership, leaseMs, log } = this.#options;
    const nowMs = clock.monotonicMs();
    if (this.#isMember && nowMs < this.#renewAtMs) return;
    try {
      await (this.#isMember ? membership.renew(this.#declined) : membership.join(this.#declined));
    } catch (error) {
      if (!(error instanceof ClockDifferenceError)) throw error;
      this.#isClockOff = true;
      this.#rareLog('clock', () => log.error({ err: error }, 'this node is given no tenants'));
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
    const { clock, leaseMs, nodeId } = this.#options;
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
    const moving = ALL_SHARDS.filter((shard) => !this.#isSettled(shard));
    if (moving.some((shard) => !this.#moving.includes(shard))) this.#movingSinceMs = this.#viewedAtMs;
    this.#moving = moving;
    this.#tellWaiters();
  }

  /** It runs where it is to be. */
  #isSettled(shard: Shard): boolean {
    const home = this.#assigned[shard];
    return home !== undefined && this.#runs(home, shard);
  }

  #tellWaiters(): void {
    for (const waiter of [...this.#waiters]) if (waiter.isDue()) waiter.resolve();
  }
}
