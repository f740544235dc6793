// What flows in a world, charger by charger: held against the limits whenever it or they may have changed.
import type { EpochMs } from '../../machines/time.js';
import type { ChargerRun } from './charger-run.js';
import type { LimitOracle } from './limit-oracle.js';
import { PowerWatch, type Violation } from './power-watch.js';
import type { Tracer } from './tracer.js';

export interface SitePower {
  readonly watch: PowerWatch;
  /** The charger's draw, limit, state or link may be another. */
  noteChange(run: ChargerRun): void;
  /** The location's limit may be another: nobody's draw has to change for one to be broken. */
  look(locationId: string): void;
}

export function createSitePower(options: {
  readonly oracle: LimitOracle;
  readonly runs: readonly ChargerRun[];
  /** undefined where nobody listens. */
  readonly tracer: Tracer | undefined;
  readonly nowMs: () => EpochMs;
  readonly monotonicMs: () => number;
  readonly onViolation: (violation: Violation) => void;
}): SitePower {
  const { oracle, runs, tracer, nowMs, monotonicMs, onViolation } = options;
  const drawnMw = new Map<ChargerRun, number>();
  const watch = new PowerWatch({ oracle, refresh, onViolation });

  /** True where it draws more or less than it did. */
  function measure(run: ChargerRun): boolean {
    const powerMw = Math.round(1000 * run.charger.physicalPowerW());
    const changeMw = powerMw - (drawnMw.get(run) ?? 0);
    if (changeMw === 0) return false;
    drawnMw.set(run, powerMw);
    watch.change(run.charger.address.locationId, changeMw);
    return true;
  }

  /** A charger without a connection is looked after now and then only; its cars may have done something since. */
  function refresh(locationId: string): void {
    for (const run of runs) {
      if (run.charger.address.locationId !== locationId) continue;
      run.charger.advance(monotonicMs());
      measure(run);
    }
  }

  return {
    watch,
    noteChange(run) {
      tracer?.charger(run);
      if (!measure(run)) return;
      const { locationId } = run.charger.address;
      watch.check(locationId, nowMs());
      tracer?.power(locationId, watch.powerW(locationId));
    },
    look(locationId) {
      tracer?.limit(locationId, watch.allowedW(locationId, nowMs()));
      watch.check(locationId, nowMs());
    },
  };
}
