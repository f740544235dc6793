// Whether the service can do its work, as a probe sees it.
import type { Clock } from './ports/clock.js';
import type { Store } from './ports/store.js';
import type { MessageBus } from './ports/telemetry.js';
import type { Health } from './wire/health.js';

// A probe may come often: the database is asked at most this often.
const PING_EVERY_MS = 1_000;
// A boundary this late means that the scheduler does not get to run.
const SCHEDULER_LATE_MS = 5_000;

/** A function from now to the health of the parts; it does not reject. */
export function createHealth(options: {
  readonly clock: Clock;
  readonly store: Pick<Store, 'ping'>;
  readonly broker: Pick<MessageBus, 'isHealthy'>;
  readonly overdueMs: () => number;
  readonly version: string;
}): () => Promise<Health> {
  const { clock, store, broker, version } = options;
  const startedMs = clock.monotonicMs();
  let ping: { readonly atMs: number; readonly answer: Promise<boolean> } | undefined;

  function isDatabaseWell(): Promise<boolean> {
    const nowMs = clock.monotonicMs();
    if (ping === undefined || nowMs - ping.atMs >= PING_EVERY_MS) {
      const answer = store.ping().then(
        () => true,
        () => false,
      );
      ping = { atMs: nowMs, answer };
    }
    return ping.answer;
  }

  const word = (isWell: boolean) => (isWell ? 'ok' : 'failing');
  return async () => {
    const checks = {
      database: word(await isDatabaseWell()),
      broker: word(broker.isHealthy()),
      scheduler: word(options.overdueMs() < SCHEDULER_LATE_MS),
    } as const;
    const isWell = Object.values(checks).every((check) => check === 'ok');
    const uptimeSeconds = Math.round((clock.monotonicMs() - startedMs) / 1000);
    return { status: isWell ? 'ok' : 'degraded', version, uptimeSeconds, checks };
  };
}
