// What must not grow for as long as a world lives: timers, what waits, and how late windows are switched (P13, P6).
import type { Metrics } from '../../src/metrics.js';
import type { Report } from '../world/power-watch.js';

export interface BoundsWatch {
  look(): Promise<void>;
}

/** Of the service, of any size: one host timer for each kind of thing that comes due. */
const TIMERS = 64;
/** Of each shard on each node: one that froze does not know yet that others have followed it. */
const TIMERS_OF_A_SHARD = 8;
/** Per connector: heartbeats, messages under way and what it planned before something else came first. */
const WAITING_PER_CONNECTOR = 200;
const WAITING = 2_000;

export function createBoundsWatch(options: {
  readonly connectors: number;
  /** How many there may be on all nodes together; 0 where the service is not divided. */
  readonly shards: number;
  readonly pendingTimers: () => number;
  readonly waiting: () => number;
  /** Of the running service; undefined where none runs. */
  readonly metrics: () => Metrics | undefined;
  /** The service that runs stood still for a while, as a frozen process does: what fell due meanwhile came late. */
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
