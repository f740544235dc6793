// Batched writes of enforcement's data beside the contract's rows. A failed write repeats, and no request is delayed.
import type { TenantUuid } from '../../machines/values/ids.js';
import type { Cancel, Clock } from '../ports/clock.js';
import type { Log } from '../ports/log.js';
import { type Change, type Store, StoreUnavailableError } from '../ports/store.js';
import { createRareLog, type RareLog } from '../rare-log.js';

const RETRY_AFTER_MS = 1_000;
const BATCH = 1_000;
const TENANTS_AT_ONCE = 50;
// In a long outage of the database, power is dropped first: that of connectors, which are many, before that of
// locations. Alarms are few, unless a charger comes and goes without end.
const KEPT: Readonly<Record<string, number>> = { 'connectorPower.put': 50_000, 'power.put': 100_000 };
const OTHERS_KEPT = 120_000;

interface Queue {
  /** Changes of one entry share a commit. */
  readonly entries: (readonly Change[])[];
  /** Entries that have left the queue. */
  left: number;
}

interface BookkeepingOptions {
  readonly clock: Clock;
  readonly store: Pick<Store, 'append'>;
  readonly log: Log;
}

export class BatchedWrites {
  readonly #clock: Clock;
  readonly #store: Pick<Store, 'append'>;
  readonly #log: Log;
  readonly #rareLog: RareLog;
  /** The tenant of the next batch first. */
  readonly #queues = new Map<TenantUuid, Queue>();
  #kept = 0;
  #givenUp = 0;
  #draining: Promise<void> | undefined;
  /** The batch under way, or the last one. */
  #writing: Promise<void> | undefined;
  #cancelStart: Cancel = () => {};
  /** The database did not take the last batch. */
  #isWaiting = false;
  #isStopped = false;

  constructor({ clock, store, log }: BookkeepingOptions) {
    this.#clock = clock;
    this.#store = store;
    this.#log = log;
    this.#rareLog = createRareLog(clock);
  }

  /** The database did not take the last changes. */
  get isWaiting(): boolean {
    return this.#isWaiting;
  }

  /** The changes are written in one commit, after all earlier changes of the tenant. Never throws. */
  write(tenantUuid: TenantUuid, ...changes: readonly [Change, ...Change[]]): void {
    const [{ kind }] = changes;
    if (this.#kept >= (KEPT[kind] ?? OTHERS_KEPT)) {
      this.#givenUp++;
      this.#rareLog(`given up: ${kind}`, () =>
        this.#log.error(
          { kind, kept: this.#kept, givenUp: this.#givenUp },
          'the database has been away for too long: such changes are given up',
        ),
      );
      return;
    }
    const queue = this.#queues.get(tenantUuid) ?? { entries: [], left: 0 };
    this.#queues.set(tenantUuid, queue);
    queue.entries.push(changes);
    // In a turn of its own, so that changes of one moment are written together.
    if (this.#kept === 0) this.#startAfter(0);
    this.#kept += changes.length;
  }

  /**
   * Resolves once all earlier changes of the tenant are on disk.
   * @throws StoreUnavailableError with unknown outcome if the database does not take them now; the write repeats all
   * the same
   */
  async written(tenantUuid: TenantUuid): Promise<void> {
    const queue = this.#queues.get(tenantUuid);
    if (queue === undefined) return;
    const earlier = queue.left + queue.entries.length;
    while (queue.left < earlier) {
      this.#startDraining();
      await this.#writing;
      if (queue.left < earlier && this.#isWaiting)
        throw new StoreUnavailableError('the database takes no writes now', { isOutcomeUnknown: true });
    }
  }

  /** Tries once more to write the rest. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelStart();
    await this.#draining;
    this.#startDraining();
    await this.#draining;
  }

  #startAfter(delayMs: number): void {
    if (this.#isStopped) return;
    this.#cancelStart();
    this.#cancelStart = this.#clock.after(delayMs, () => this.#startDraining());
  }

  #startDraining(): void {
    if (this.#draining !== undefined || this.#queues.size === 0) return;
    this.#draining = this.#drain().finally(() => {
      this.#draining = undefined;
    });
  }

  async #drain(): Promise<void> {
    do {
      if (this.#queues.size === 0) return;
      this.#writing = this.#writeOldest();
      await this.#writing;
    } while (!this.#isWaiting);
    this.#startAfter(RETRY_AFTER_MS);
  }

  /** Writes the oldest changes of some tenants at once, so that the store can commit them together. */
  async #writeOldest(): Promise<void> {
    const turns = [...this.#queues].slice(0, TENANTS_AT_ONCE);
    const taken = await Promise.all(turns.map((turn) => this.#writeFirst(...turn)));
    this.#isWaiting = taken.includes(false);
  }

  /** False if the database does not take the changes now. The tenant's next turn comes after those of the others. */
  async #writeFirst(tenantUuid: TenantUuid, queue: Queue): Promise<boolean> {
    const entries = batchOf(queue.entries);
    if (!(await this.#writeBatch(tenantUuid, entries))) return false;
    queue.entries.splice(0, entries.length);
    queue.left += entries.length;
    this.#kept -= entries.flat().length;
    this.#queues.delete(tenantUuid);
    if (queue.entries.length > 0) this.#queues.set(tenantUuid, queue);
    return true;
  }

  /**
   * False if the database does not take the entries now: they are written again. One that it can never take is dropped,
   * so that it blocks no other.
   */
  async #writeBatch(tenantUuid: TenantUuid, entries: readonly (readonly Change[])[]): Promise<boolean> {
    try {
      await this.#store.append(tenantUuid, entries.flat());
      return true;
    } catch (error) {
      if (error instanceof StoreUnavailableError) {
        this.#rareLog('bookkeeping', () =>
          this.#log.warn({ err: error, kept: this.#kept }, 'alarms and power wait for the database'),
        );
        return false;
      }
      if (entries.length === 1) {
        this.#log.error({ err: error, tenantUuid }, 'alarms and power could not be written');
        return true;
      }
      // Halves find the entry at fault in few commits.
      const half = entries.length >> 1;
      return (
        (await this.#writeBatch(tenantUuid, entries.slice(0, half))) &&
        (await this.#writeBatch(tenantUuid, entries.slice(half)))
      );
    }
  }
}

/** The first entries of the queue, as long as they have few changes. */
function batchOf(queue: readonly (readonly Change[])[]): readonly (readonly Change[])[] {
  let changes = 0;
  const end = queue.findIndex((entry, place) => {
    changes += entry.length;
    return place > 0 && changes > BATCH;
  });
  return queue.slice(0, end === -1 ? queue.length : end);
}
