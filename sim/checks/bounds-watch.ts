// Checks the quantities that must stay bounded while a world lives: timers, waiting work, and the delay of window
// boundaries (P13, P6).
import type { Metrics } from '../../src/metrics.js';
import type { Report } from '../world/power-watch.js';

export interface BoundsWatch {
  look(): Promise<void>;
}

/** Timers of a service of any size: one host timer for each kind of due work. */
const TIMERS = 64;
/** Timers of each shard on each node: a frozen node has not noticed yet that others have replaced it. */
const TIMERS_OF_A_SHARD = 8;
/** Per connector: heartbeats, messages under way, and plans that an earlier event has overtaken. */
const WAITING_PER_CONNECTOR = 200;
const WAITING = 2_000;

export function createBoundsWatch(options: {
  readonly connectors: number;
  /** Number of shards on all nodes together; 0 for a service without shards. */
  readonly shards: number;
  readonly pendingTimers: () => number;
  readonly waiting: () => number;
  /** Metrics of the running service; undefined if none runs. */
  readonly metrics: () => Metrics | undefined;
  /** The running service stood still for a while, as a frozen process does, so its due work came late. */
  readonly stoodStill: () => boolean;
  readonly report: Report;
}): BoundsWatch {
  const { connectors, shards, pendingTimers, waiting, metrics, stoodStill, report } = options;
  const mostTimers = TIMERS + TIMERS_OF_A_SHARD * shards;
  const mostWaiting = WAITING + WAITING_PER_CONNECTOR * connectors;

  return {
    async look() {
      if (pendingTimers() > mostTimers)
        report({ invariant: 'P13', target: 'timers', detail: `${pendingTimers()} timers wait` });
      if (waiting() > mostWaiting)
        report({ invariant: 'P13', target: 'world', detail: `${waiting()} things wait to happen` });
      if (stoodStill()) return;
      const lag = await metrics()?.boundaryLagSeconds.get();
      const count = lag?.values.find(({ metricName }) => metricName?.endsWith('_count'))?.value ?? 0;
      const withinASecond = lag?.values.find(({ labels }) => Number(labels.le) === 1)?.value ?? count;
      if (withinASecond < count) {
        const detail = `${count - withinASecond} window boundaries were applied more than 1 s late`;
        report({ invariant: 'P6', target: 'scheduler', detail });
      }
    },
  };
}
