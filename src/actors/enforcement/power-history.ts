// Measured power by the minute, kept for as long as the operator wants it: what a location drew, beside its limit.
import type { EpochMs } from '../../../machines/time.js';
import type { Cancel, Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import type { Store } from '../../ports/store.js';
import type { Directory } from '../directory.js';
import type { Bookkeeping } from './bookkeeping.js';
import { endMinute } from './power-minute.js';

export interface PowerHistory {
  start(): void;
  /** Writes the minute that runs as far as it has come. */
  stop(): void;
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const FORGET_EVERY_MS = 3_600_000;

export function createPowerHistory(options: {
  readonly clock: Clock;
  readonly log: Log;
  readonly directory: Directory;
  readonly bookkeeping: Bookkeeping;
  readonly store: Pick<Store, 'forgetPowerBefore'>;
  readonly retentionDays: number;
}): PowerHistory {
  const { clock, log, directory, bookkeeping, store, retentionDays } = options;
  let cancelMinute: Cancel = () => {};
  let cancelForgetting: Cancel = () => {};
  let minuteAtMs: EpochMs = 0;

  function endMinutes(): void {
    const nowMs = clock.monotonicMs();
    for (const tenant of directory.tenants.values()) {
      directory.catchUp(tenant.locations.values());
      for (const { enforcement, record } of tenant.locations.values()) {
        const minute = endMinute(enforcement.power, minuteAtMs, nowMs);
        if (minute === undefined) continue;
        const { locationId } = record;
        bookkeeping.write(tenant.tenantUuid, { kind: 'power.put', locationId, minute });
      }
    }
  }

  function waitForMinute(): void {
    const now = clock.nowMs();
    minuteAtMs = now - (now % MINUTE_MS);
    cancelMinute = clock.after(minuteAtMs + MINUTE_MS - now, () => {
      // A timer may come a little early; then the rest of the minute is a minute of its own, and replaces nothing.
      if (clock.nowMs() >= minuteAtMs + MINUTE_MS) endMinutes();
      waitForMinute();
    });
  }

  function forget(): void {
    store.forgetPowerBefore(clock.nowMs() - retentionDays * DAY_MS).catch((error: unknown) => {
      log.warn({ err: error }, 'old minutes of power could not be removed; trying again in an hour');
    });
    cancelForgetting = clock.after(FORGET_EVERY_MS, forget);
  }

  return {
    start() {
      waitForMinute();
      forget();
    },
    stop() {
      cancelMinute();
      cancelForgetting();
      endMinutes();
    },
  };
}
