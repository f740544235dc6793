// Group commit: writes that come while one commit is on its way to the disk share the next one.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Metrics } from '../../metrics.js';
import type { Clock } from '../../ports/clock.js';
import { StoreUnavailableError } from '../../ports/store.js';
import type { Submission } from './changes.js';
import { isUnavailable, orUnavailable } from './unavailable.js';

const MAX_BATCH = 500;
const MAX_PENDING = 10_000;
// A cluster schedule is up to a thousand changes of one caller: bounds how long one commit keeps the thread.
const MAX_CHANGES = 5000;
// A caller is better served with "not now" than with a long wait for a database that takes seconds for each commit.
const MAX_WAIT_MS = 5000;

export interface Journal {
  /** Resolves when `submission` is on disk, in the order of the calls; all of it is written or nothing. */
  append(submission: Submission): Promise<void>;
  /** Milliseconds since the database last refused a commit; undefined where none was refused since the last success. */
  refusedForMs(): number | undefined;
  /** Runs `work` in its turn: after what was asked before it is answered, before what is asked after it is begun. */
  exclusively<T>(work: () => Promise<T>): Promise<T>;
  /** Takes nothing more; resolves when what was taken is answered. */
  close(): Promise<void>;
}

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
export function createJournal(options: {
  readonly write: (submissions: readonly Submission[]) => Promise<void>;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly maxBatch?: number | undefined;
  readonly maxPending?: number | undefined;
}): Journal {
  const { write, clock, metrics, maxBatch = MAX_BATCH, maxPending = MAX_PENDING } = options;
  let pending: (Write | Alone)[] = [];
  let draining: Promise<void> | undefined;
  let closed = false;
  let refusedAtMs: number | undefined;

  function enqueue<T>(
    entryOf: (waiting: Waiting, resolve: (result: T) => void) => Write | Alone,
  ): Promise<T> {
    if (closed) return Promise.reject(new StoreUnavailableError('the database is being closed'));
    if (pending.length >= maxPending) {
      return Promise.reject(new StoreUnavailableError(`${maxPending} writes are waiting already`));
    }
    return new Promise((resolve, reject) => {
      pending.push(entryOf({ sinceMs: clock.monotonicMs(), reject }, resolve));
      draining ??= drain();
    });
  }

  async function drain(): Promise<void> {
    while (pending.length > 0) {
      // Requests that arrived together share this commit instead of leaving all but the first to the next.
      await nextTurn();
      refuseOverdue();
      const batch = takeBatch();
      if (batch.length > 0) await commit(batch);
      else await takeAlone()?.run();
    }
    draining = undefined;
  }

  function refuseOverdue(): void {
    const sinceMs = clock.monotonicMs() - MAX_WAIT_MS;
    const end = pending.findIndex((entry) => entry.sinceMs >= sinceMs);
    const overdue = pending.splice(0, end === -1 ? pending.length : end);
    const error = new StoreUnavailableError('the database is too slow for all that is asked of it');
    for (const entry of overdue) entry.reject(error);
  }

  /** The writes at the head of the queue that may share a commit. */
  function takeBatch(): readonly Write[] {
    const batch: Write[] = [];
    let changes = 0;
    for (const entry of pending) {
      if ('run' in entry || batch.length >= maxBatch) break;
      changes += entry.changes.length;
      if (batch.length > 0 && changes > MAX_CHANGES) break;
      batch.push(entry);
    }
    pending = batch.length === pending.length ? [] : pending.slice(batch.length);
    return batch;
  }

  function takeAlone(): Alone | undefined {
    const [first] = pending;
    if (first === undefined || !('run' in first)) return undefined;
    pending = pending.slice(1);
    return first;
  }

  async function commit(batch: readonly Write[]): Promise<void> {
    const startedMs = clock.monotonicMs();
    try {
      await orUnavailable(() => write(batch));
    } catch (error) {
      return fail(batch, error);
    }
    refusedAtMs = undefined;
    metrics.commitSeconds.observe((clock.monotonicMs() - startedMs) / 1000);
    metrics.commitChanges.observe(batch.reduce((sum, entry) => sum + entry.changes.length, 0));
    for (const entry of batch) entry.resolve();
  }

  async function fail(batch: readonly Write[], error: unknown): Promise<void> {
    if (isUnavailable(error)) refusedAtMs = clock.monotonicMs();
    if (isUnavailable(error) || batch.length === 1) {
      for (const entry of batch) entry.reject(error);
      return;
    }
    // One caller's data is at fault: halves find it in few commits, and the others do not pay for it.
    const half = batch.length >> 1;
    await commit(batch.slice(0, half));
    await commit(batch.slice(half));
  }

  return {
    append: (submission) => enqueue<void>((waiting, resolve) => ({ ...submission, ...waiting, resolve })),
    refusedForMs: () => (refusedAtMs === undefined ? undefined : clock.monotonicMs() - refusedAtMs),
    exclusively: (work) =>
      enqueue((waiting, resolve) => ({
        ...waiting,
        run: () => work().then(resolve, waiting.reject),
      })),
    async close() {
      closed = true;
      await draining;
    },
  };
}
