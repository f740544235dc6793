// Group commit: writes that arrive during one commit share the next one.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Metrics } from '../../metrics.js';
import type { Clock } from '../../ports/clock.js';
import { type Store, StoreUnavailableError, type Submission } from '../../ports/store.js';
import { asUnavailable, isUnavailable } from './unavailable.js';

const MAX_BATCH = 500;
const MAX_PENDING = 10_000;
// A cluster schedule is up to a thousand changes of one caller: this limits
// the time for which one commit keeps the thread.
const MAX_CHANGES = 5000;
// With a database that takes seconds for each commit, callers get an error instead of a long wait.
const MAX_WAIT_MS = 5000;

interface Waiting {
  readonly sinceMs: number;
  readonly reject: (error: unknown) => void;
}

interface Write extends Waiting, Submission {
  readonly resolve: () => void;
}

interface Alone extends Waiting {
  readonly run: () => Promise<void>;
}

/**
 * A first-in-first-out queue in front of `write`, which writes many submissions in one transaction and runs alone. At
 * most `maxBatch` callers share a commit, at most `maxPending` wait, and none begins after five seconds of waiting:
 * the others are refused with StoreUnavailableError.
 */
export class Journal {
  readonly #write: (submissions: readonly Submission[]) => Promise<void>;
  readonly #clock: Clock;
  readonly #metrics: Metrics;
  readonly #maxBatch: number;
  readonly #maxPending: number;
  #pending: (Write | Alone)[] = [];
  #draining: Promise<void> | undefined;
  #isClosed = false;
  #refusedAtMs: number | undefined;

  constructor(options: {
    readonly write: (submissions: readonly Submission[]) => Promise<void>;
    readonly clock: Clock;
    readonly metrics: Metrics;
    readonly maxBatch?: number | undefined;
    readonly maxPending?: number | undefined;
  }) {
    this.#write = options.write;
    this.#clock = options.clock;
    this.#metrics = options.metrics;
    this.#maxBatch = options.maxBatch ?? MAX_BATCH;
    this.#maxPending = options.maxPending ?? MAX_PENDING;
  }

  /** Resolves when the changes are on disk, in the order of the calls; all of them are written or none. */
  readonly append: Store['append'] = (tenantUuid, changes, by) =>
    new Promise((resolve, reject) =>
      this.#enqueue({ tenantUuid, changes, by, sinceMs: this.#clock.monotonicMs(), resolve, reject }),
    );

  /** Milliseconds since the database last refused a commit; undefined if the last commit succeeded. */
  refusedForMs(): number | undefined {
    return this.#refusedAtMs === undefined ? undefined : this.#clock.monotonicMs() - this.#refusedAtMs;
  }

  /** Runs `work` in its place of the queue: after the answers to earlier entries, and before later ones begin. */
  exclusively<T>(work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) =>
      this.#enqueue({
        sinceMs: this.#clock.monotonicMs(),
        run: () => work().then(resolve, reject),
        reject,
      }),
    );
  }

  /** Accepts nothing more; resolves after the answers to all accepted entries. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#draining;
  }

  /** @throws StoreUnavailableError if it is closed or full. */
  #enqueue(entry: Write | Alone): void {
    if (this.#isClosed) throw new StoreUnavailableError('the database is being closed');
    if (this.#pending.length >= this.#maxPending)
      throw new StoreUnavailableError(`${this.#maxPending} writes are waiting already`);
    this.#pending.push(entry);
    this.#draining ??= this.#drain();
  }

  async #drain(): Promise<void> {
    while (this.#pending.length > 0) {
      // Requests that arrived together share this commit instead of leaving all but the first to the next.
      await nextTurn();
      this.#refuseOverdue();
      const batch = this.#dequeueBatch();
      if (batch.length > 0) await this.#commit(batch);
      else await this.#dequeueAlone()?.run();
    }
    this.#draining = undefined;
  }

  #refuseOverdue(): void {
    const sinceMs = this.#clock.monotonicMs() - MAX_WAIT_MS;
    const [oldest] = this.#pending;
    if (oldest === undefined || oldest.sinceMs >= sinceMs) return;
    const end = this.#pending.findIndex((entry) => entry.sinceMs >= sinceMs);
    const overdue = this.#pending.splice(0, end === -1 ? this.#pending.length : end);
    const error = new StoreUnavailableError('the database is too slow for the requested writes');
    for (const entry of overdue) entry.reject(error);
  }

  /** The writes at the head of the queue that may share a commit. */
  #dequeueBatch(): readonly Write[] {
    const batch: Write[] = [];
    let changes = 0;
    for (const entry of this.#pending) {
      if ('run' in entry || batch.length >= this.#maxBatch) break;
      changes += entry.changes.length;
      if (batch.length > 0 && changes > MAX_CHANGES) break;
      batch.push(entry);
    }
    this.#pending = batch.length === this.#pending.length ? [] : this.#pending.slice(batch.length);
    return batch;
  }

  #dequeueAlone(): Alone | undefined {
    const [first] = this.#pending;
    if (first === undefined || !('run' in first)) return undefined;
    this.#pending = this.#pending.slice(1);
    return first;
  }

  async #commit(batch: readonly Write[]): Promise<void> {
    const startedMs = this.#clock.monotonicMs();
    try {
      await this.#write(batch);
    } catch (error) {
      return this.#fail(batch, asUnavailable(error));
    }
    this.#refusedAtMs = undefined;
    this.#metrics.commitSeconds.observe((this.#clock.monotonicMs() - startedMs) / 1000);
    let changes = 0;
    for (const entry of batch) {
      changes += entry.changes.length;
      entry.resolve();
    }
    this.#metrics.commitChanges.observe(changes);
  }

  async #fail(batch: readonly Write[], error: unknown): Promise<void> {
    if (isUnavailable(error)) this.#refusedAtMs = this.#clock.monotonicMs();
    if (isUnavailable(error) || batch.length === 1) {
      for (const entry of batch) entry.reject(error);
      return;
    }
    // One caller's data is at fault. Splitting the batch in halves finds it in few commits, and the others succeed.
    const half = batch.length >> 1;
    await this.#commit(batch.slice(0, half));
    await this.#commit(batch.slice(half));
  }
}
