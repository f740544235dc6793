// What enforcement keeps on disk beside the contract's rows: written in batches, tried again, never in a request's way.
import type { TenantUuid } from '../../../machines/ids.js';
import type { Cancel, Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import { type Change, type Store, StoreUnavailableError } from '../../ports/store.js';
import { createRareLog } from '../../rare-log.js';

export interface Bookkeeping {
  /** Will be written, after all that was handed over before for the tenant. Never throws. */
  write(tenantUuid: TenantUuid, change: Change): void;
  /** Tries once more to write what is left. */
  stop(): Promise<void>;
}

const RETRY_AFTER_MS = 1_000;
const BATCH = 1_000;
// When the database is away for long, minutes of power are given up first; alarms are few, unless a charger comes and goes
// without end.
const POWER_KEPT = 100_000;
const ALARMS_KEPT = 120_000;

export function createBookkeeping(options: {
  readonly clock: Clock;
  readonly store: Pick<Store, 'append'>;
  readonly log: Log;
}): Bookkeeping {
  const { clock, store, log } = options;
  const rareLog = createRareLog(clock);
  const queues = new Map<TenantUuid, Change[]>();
  let kept = 0;
  let draining: Promise<void> | undefined;
  let cancelRetry: Cancel = () => {};
  let stopped = false;

  /** False where the database would not take it now. A batch it can never take is given up, so that it holds up no other. */
  async function writeBatch(tenantUuid: TenantUuid, batch: readonly Change[]): Promise<boolean> {
    try {
      await store.append(tenantUuid, batch);
      return true;
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) {
        log.error({ err: error, tenantUuid, changes: batch.length }, 'alarms and power could not be written');
        return true;
      }
      rareLog('bookkeeping', () => log.warn({ err: error, kept }, 'alarms and power wait for the database'));
      return false;
    }
  }

  async function drain(): Promise<void> {
    for (let next = queues.entries().next(); next.done !== true; next = queues.entries().next()) {
      const [tenantUuid, queue] = next.value;
      const batch = queue.slice(0, BATCH);
      if (!(await writeBatch(tenantUuid, batch))) {
        if (!stopped) cancelRetry = clock.after(RETRY_AFTER_MS, startDraining);
        break;
      }
      queue.splice(0, batch.length);
      kept -= batch.length;
      if (queue.length === 0) queues.delete(tenantUuid);
    }
    draining = undefined;
  }

  function startDraining(): void {
    draining ??= drain();
  }

  return {
    write(tenantUuid, change) {
      if (kept >= (change.kind === 'power.put' ? POWER_KEPT : ALARMS_KEPT)) return;
      const queue = queues.get(tenantUuid) ?? [];
      queues.set(tenantUuid, queue);
      queue.push(change);
      kept++;
      // In a turn of its own: what is handed over together is written together.
      if (kept === 1) queueMicrotask(startDraining);
    },
    async stop() {
      stopped = true;
      cancelRetry();
      await draining;
      startDraining();
      await draining;
    },
  };
}
