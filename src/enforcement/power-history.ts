// Stores measured power by the minute, for as long as the operator wants it. It also stores the count of the billed
// window, so that a restart continues it.
import type { EpochMs } from '../../machines/values/time.js';
import type { Directory, LocationEntity } from '../actors/directory.js';
import type { Cancel, Clock } from '../ports/clock.js';
import type { Log } from '../ports/log.js';
import type { Store } from '../ports/store.js';
import type { BatchedWrites } from './batched-writes.js';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const FORGET_EVERY_MS = 3_600_000;

interface PowerHistoryOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly directory: Directory;
  readonly bookkeeping: BatchedWrites;
  readonly store: Pick<Store, 'forgetPowerBefore'>;
  readonly retentionDays: number;
}

export class PowerHistory {
  readonly #options: PowerHistoryOptions;
  #cancelMinute: Cancel = () => {};
  #cancelForgetting: Cancel = () => {};
  #minuteAtMs: EpochMs = 0;

  constructor(options: PowerHistoryOptions) {
    this.#options = options;
  }

  start(): void {
    this.#waitForMinute();
    this.#forget();
  }

  /** Writes the present minute as far as it has come. */
  stop(): void {
    this.#cancelMinute();
    this.#cancelForgetting();
    this.#endMinutes();
  }

  #waitForMinute(): void {
    const { clock } = this.#options;
    const now = clock.nowMs();
    this.#minuteAtMs = now - (now % MINUTE_MS);
    this.#cancelMinute = clock.after(this.#minuteAtMs + MINUTE_MS - now, () => {
      // A timer may come a little early. The rest of the minute is then a minute of its own, and replaces nothing.
      if (clock.nowMs() >= this.#minuteAtMs + MINUTE_MS) this.#endMinutes();
      this.#waitForMinute();
    });
  }

  #endMinutes(): void {
    const { clock, directory, bookkeeping } = this.#options;
    // A timer may be late: the minute ended at its instant by the clock. At a stop it ends now.
    const [nowMs, monotonicMs] = [clock.nowMs(), clock.monotonicMs()];
    const endedAtMs = monotonicMs - Math.max(0, nowMs - this.#minuteAtMs - MINUTE_MS);
    const nextEndsAtMs = monotonicMs + MINUTE_MS - (nowMs % MINUTE_MS);
    for (const tenant of directory.tenants.values()) {
      directory.catchUp(tenant.locations.values());
      for (const location of tenant.locations.values()) {
        const { minute: running, record } = location;
        this.#keepBilledWindow(location);
        const minute = running.end(this.#minuteAtMs, endedAtMs, nextEndsAtMs);
        if (minute === undefined) continue;
        const { locationId } = record;
        bookkeeping.write(tenant.tenantUuid, { kind: 'power.put', locationId, minute });
      }
    }
  }

  #keepBilledWindow({ tenant, record, actor }: LocationEntity): void {
    const { billedWindow } = actor.getSnapshot().context;
    if (billedWindow === undefined) return;
    this.#options.bookkeeping.write(tenant.tenantUuid, {
      kind: 'billedWindow.put',
      billedWindow: { locationId: record.locationId, ...billedWindow.soFar },
    });
  }

  #forget(): void {
    const { clock, log, store, retentionDays } = this.#options;
    store.forgetPowerBefore(clock.nowMs() - retentionDays * DAY_MS).catch((error: unknown) => {
      log.warn({ err: error }, 'old minutes of power could not be removed; trying again in an hour');
    });
    this.#cancelForgetting = clock.after(FORGET_EVERY_MS, () => this.#forget());
  }
}
