// The physical power in a world, charger by charger, checked whenever the power or a limit may have changed.
import type { EpochMs } from '../../machines/values/time.js';
import type { TenantEntry } from '../../src/provisioning/provisioning-schema.js';
import type { ChargerRun } from './charger-run.js';
import { FuseWatch } from './fuse-watch.js';
import type { LimitOracle } from './limit-oracle.js';
import { PowerWatch, type Violation } from './power-watch.js';
import type { Tracer } from './tracer.js';

export class SitePower {
  readonly #runs: readonly ChargerRun[];
  readonly #tracer: Tracer | undefined;
  readonly #nowMs: () => EpochMs;
  readonly #monotonicMs: () => number;
  readonly #drawnMw = new Map<ChargerRun, number>();
  readonly watch: PowerWatch;
  readonly fuses: FuseWatch;

  constructor(options: {
    readonly tenants: readonly TenantEntry[];
    readonly oracle: LimitOracle;
    readonly runs: readonly ChargerRun[];
    /** Undefined without a listener of the trace. */
    readonly tracer: Tracer | undefined;
    readonly nowMs: () => EpochMs;
    readonly monotonicMs: () => number;
    readonly onViolation: (violation: Violation) => void;
  }) {
    this.#runs = options.runs;
    this.#tracer = options.tracer;
    this.#nowMs = options.nowMs;
    this.#monotonicMs = options.monotonicMs;
    this.watch = new PowerWatch({
      oracle: options.oracle,
      refresh: (locationId) => this.#refresh(locationId),
      onViolation: options.onViolation,
    });
    this.fuses = new FuseWatch({
      tenants: options.tenants,
      refresh: (locationId) => this.#refresh(locationId),
      onViolation: options.onViolation,
    });
  }

  /** The charger's draw, limit, state or connection may have changed. */
  noteChange(run: ChargerRun): void {
    this.#tracer?.charger(run);
    if (!this.#measure(run)) return;
    const { locationId } = run.charger.address;
    this.watch.check(locationId, this.#nowMs());
    this.fuses.check(locationId, this.#nowMs());
    this.#tracer?.power(locationId, this.watch.powerW(locationId));
  }

  /** Draw of the location's chargers at this instant. */
  drawnW(locationId: string): number {
    this.#refresh(locationId);
    return this.watch.powerW(locationId);
  }

  /** The location's limit may have changed: the chargers can exceed it without any change of draw. */
  look(locationId: string): void {
    this.#tracer?.limit(locationId, this.watch.allowedW(locationId, this.#nowMs()));
    this.watch.check(locationId, this.#nowMs());
  }

  /** True if the draw has changed. */
  #measure(run: ChargerRun): boolean {
    const powerMw = Math.round(1000 * run.charger.physicalPowerW());
    const changeMw = powerMw - (this.#drawnMw.get(run) ?? 0);
    if (changeMw === 0) return false;
    this.#drawnMw.set(run, powerMw);
    this.watch.change(run.charger.address.locationId, changeMw);
    this.fuses.note(run.charger, this.#nowMs());
    return true;
  }

  /** A charger without a connection is advanced only now and then: its cars may have changed since. */
  #refresh(locationId: string): void {
    let isAnother = false;
    for (const run of this.#runs) {
      if (run.charger.address.locationId !== locationId) continue;
      run.charger.advance(this.#monotonicMs());
      if (this.#measure(run)) isAnother = true;
    }
    // This measurement consumed the change, so no other call would record it.
    if (isAnother) this.#tracer?.power(locationId, this.watch.powerW(locationId));
  }
}
