// Group commit: whoever asks while one commit is on its way to the disk shares the next one.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Metrics } from '../../metrics.js';
import { type Clock, StoreUnavailableError } from '../../ports.js';
import type { Submission } from './changes.js';
import { isUnavailable, orUnavailable } from './unavailable.js';

const MAX_BATCH = 500;
const MAX_PENDING = 10_000;
// A cluster schedule is up to a thousand changes of one caller: bounds how long one commit keeps the thread.
const MAX_CHANGES = 5000;

export interface Journal {
  /** Resolves when `submission` is on disk, in the order of the calls; all of it is written or nothing. */
  append(submission: Submission): Promise<void>;
  /** Takes nothing more; resolves when what was taken is answered. */
  close(): Promise<void>;
}

interface Pending extends Submission {
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * A first-in-first-out queue in front of `write`, which writes many submissions in one transaction and runs alone. At
 * most `maxBatch` callers share a commit, at most `maxPending` wait; one more is refused with StoreUnavailableError.
 */
export function createJournal(options: {
  readonly write: (submissions: readonly Submission[]) => Promise<void>;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly maxBatch?: number | undefined;
  readonly maxPending?: number | undefined;
}): Journal {
  const { write, clock, metrics, maxBatch = MAX_BATCH, maxPending = MAX_PENDING } = options;
  let pending: Pending[] = [];
  let draining: Promise<void> | undefined;
  let closed = false;

  function takeBatch(): readonly Pending[] {
    let changes = 0;
    const end = pending.findIndex((entry, i) => {
      changes += entry.changes.length;
      return i >= maxBatch || (i > 0 && changes > MAX_CHANGES);
    });
    const batch = end === -1 ? pending : pending.slice(0, end);
    pending = end === -1 ? [] : pending.slice(end);
    return batch;
  }

  async function drain(): Promise<void> {
    while (pending.length > 0) {
      // Requests that arrived together share this commit instead of leaving all but the first to the next.
      await nextTurn();
      await commit(takeBatch());
    }
    draining = undefined;
  }

  async function commit(batch: readonly Pending[]): Promise<void> {
    const startedMs = clock.monotonicMs();
    try {
      await orUnavailable(() => write(batch));
    } catch (error) {
      return fail(batch, error);
    }
    metrics.commitSeconds.observe((clock.monotonicMs() - startedMs) / 1000);
    metrics.commitChanges.observe(batch.reduce((sum, entry) => sum + entry.changes.length, 0));
    for (const entry of batch) entry.resolve();
  }

  async function fail(batch: readonly Pending[], error: unknown): Promise<void> {
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
    append(submission) {
      if (closed) return Promise.reject(new StoreUnavailableError('the database is being closed'));
      if (pending.length >= maxPending) {
        return Promise.reject(new StoreUnavailableError(`${maxPending} writes are waiting already`));
      }
      return new Promise((resolve, reject) => {
        pending.push({ ...submission, resolve, reject });
        draining ??= drain();
      });
    },
    async close() {
      closed = true;
      await draining;
    },
  };
}
