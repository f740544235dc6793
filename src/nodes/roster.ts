// Keeps this node among those that live, and knows which of them owns each shard, and which of them each shard is for.
import { assignShards, type Shard } from '../../machines/values/shards.js';
import type { Cancel, Clock } from '../ports/clock.js';
import type { Log } from '../ports/log.js';
import { ClockDifferenceError, type Holder } from '../ports/ownership.js';
import type { ClusterView, Membership } from '../ports/shared-database.js';
import { createRareLog, type RareLog } from '../rare-log.js';

/** Membership is renewed so many times in the length of a lease. */
const RENEWALS = 4;
const LOOK_EVERY_MS = 250;

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
  /** The shard that this node hands over; one at a time, so that the others go on. */
  #moving: Shard | undefined;
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

  /** Resolves once the shard is for this node and nobody owns it, at the next look at the earliest. */
  awaitVacancy(shard: Shard, signal: AbortSignal): Promise<void> {
    const { clock, nodeId } = this.#options;
    return this.#until(signal, () => {
      if (this.#isLeaving || !this.#isMember || clock.monotonicMs() < this.#claimsFromMs) return false;
      return this.#assigned[shard] === nodeId && this.#view.holders[shard] === undefined;
    });
  }

  /** Resolves once the shard, which this node owns, is for another one and it is its turn to move. */
  awaitMove(shard: Shard, signal: AbortSignal): Promise<void> {
    const { nodeId } = this.#options;
    return this.#until(signal, () => {
      const home = this.#assigned[shard];
      if (this.#view.holders[shard]?.nodeId !== nodeId || home === undefined || home === nodeId) return false;
      this.#moving ??= shard;
      return this.#moving === shard;
    });
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
    this.#cancel = this.#options.clock.after(LOOK_EVERY_MS, () => {
      this.#looking = this.#look();
    });
  }

  /** Says that this node lives, where it is time to. */
  async #stay(): Promise<void> {
    const { clock, membership, leaseMs, log } = this.#options;
    const nowMs = clock.monotonicMs();
    if (this.#isMember && nowMs < this.#renewAtMs) return;
    try {
      await (this.#isMember ? membership.renew() : membership.join());
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
    const isAlone = view.members.every((member) => member.nodeId === nodeId);
    if (this.#wasCutOff && isAlone)
      this.#claimsFromMs = clock.monotonicMs() + leaseMs / RENEWALS + LOOK_EVERY_MS;
    this.#wasCutOff = false;
    this.#assigned = assignShards(
      view.holders.map((holder) => holder?.nodeId),
      view.members.map((member) => member.nodeId),
    );
    if (this.#moving !== undefined && view.holders[this.#moving]?.nodeId !== nodeId) this.#moving = undefined;
    for (const waiter of [...this.#waiters]) if (waiter.isDue()) waiter.resolve();
  }
}
