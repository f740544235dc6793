// Running sums of a location's draw: power, and the current per grid phase in total and per feeder, if fuses are known.

import { ownCurrentsOf } from './circuit-phase-loads.js';
import type { ConnectorControl } from './connector-control.js';
import { estimatedWOf } from './counted-power.js';
import { type Fuses, gridPhaseOf } from './fuses.js';
import type { MeterLedger } from './meter-ledger.js';
import type { DrawnPower, FeederCurrents, GridTenthsA } from './power-minute.js';

const NOTHING: GridTenthsA = [0, 0, 0];

interface Connectors {
  readonly fuses: Fuses;
  readonly controls: ReadonlyMap<string, ConnectorControl>;
}

export class LocationDraw {
  readonly #meters: MeterLedger;
  readonly #connectors: Connectors;
  #estimatedW: number | undefined;
  #gridTenthsA: GridTenthsA | undefined;
  #feeders: FeederCurrents | undefined;
  /** Part of each connector in that sum. */
  #countedOf: Map<ConnectorControl, GridTenthsA> | undefined;

  constructor(meters: MeterLedger, connectors: Connectors) {
    this.#meters = meters;
    this.#connectors = connectors;
  }

  /** Measured power plus the estimates for silent connectors. */
  get now(): DrawnPower {
    const estimatedW = this.#estimatedW;
    const actualW = this.#meters.measuredW + (estimatedW ?? 0);
    return { actualW, estimatedW, gridTenthsA: this.#gridTenthsA, feeders: this.#feeders };
  }

  /** Updates the sums after a reading of `control`. */
  follow(control: ConnectorControl): void {
    if (this.#gridTenthsA === undefined || this.#countedOf === undefined) return;
    const counted = onGridPhases(control);
    const before = this.#countedOf.get(control) ?? NOTHING;
    if (isSame(counted, before)) return;
    this.#countedOf.set(control, counted);
    this.#gridTenthsA = moved(this.#gridTenthsA, before, counted);
    const above = this.#connectors.fuses.feedersAbove(control.spec.feeder);
    if (this.#feeders === undefined || above.length === 0) return;
    const { names, tenthsA } = this.#feeders;
    const all = [...tenthsA];
    for (const place of above) all[place] = moved(all[place] ?? NOTHING, before, counted);
    this.#feeders = { names, tenthsA: all };
  }

  /**
   * Recomputes the estimates, which fall with the entitlements of silent connectors. Connectors and fuses may have
   * changed.
   */
  estimate(): void {
    const { fuses, controls } = this.#connectors;
    this.#estimatedW = estimatedWOf(controls.values());
    const [before, feedersBefore, names] = [this.#gridTenthsA, this.#feeders, fuses.feederNames];
    const areFusesKnown = fuses.circuitPhases.length > 0;
    this.#gridTenthsA = areFusesKnown ? NOTHING : undefined;
    this.#feeders = names.length === 0 ? undefined : { names, tenthsA: names.map(() => NOTHING) };
    this.#countedOf = areFusesKnown ? new Map() : undefined;
    for (const control of controls.values()) this.follow(control);
    // Equal sums keep their object identity, so that `PowerMinute` detects an unchanged value.
    if (before !== undefined && this.#gridTenthsA !== undefined && isSame(before, this.#gridTenthsA))
      this.#gridTenthsA = before;
    if (areSame(feedersBefore, this.#feeders)) this.#feeders = feedersBefore;
  }
}

function isSame(a: GridTenthsA, b: GridTenthsA): boolean {
  return a[0] === b[0] && a[1] === b[1] && a[2] === b[2];
}

function areSame(a: FeederCurrents | undefined, b: FeederCurrents | undefined): boolean {
  return (
    a !== undefined &&
    a.names === b?.names &&
    a.tenthsA.every((each, i) => isSame(each, b.tenthsA[i] ?? NOTHING))
  );
}

/** The sum after one part changes from `before` to `now`. */
function moved(sum: GridTenthsA, before: GridTenthsA, now: GridTenthsA): GridTenthsA {
  return [sum[0] + now[0] - before[0], sum[1] + now[1] - before[1], sum[2] + now[2] - before[2]];
}

/**
 * Tenths of an ampere. A current on an unknown grid phase counts on every phase that may carry it, as in the ledger.
 */
function onGridPhases(control: ConnectorControl): GridTenthsA {
  const drawnA = ownCurrentsOf(control);
  const counted: [number, number, number] = [0, 0, 0];
  for (let own = 0; own < control.phases; own++) {
    const tenthsA = Math.max(0, Math.round(10 * (drawnA[own] ?? 0)));
    const place = gridPhaseOf(control.spec.rotation, own);
    for (const grid of [0, 1, 2] as const)
      if (place === undefined || place === grid) counted[grid] = Math.max(counted[grid], tenthsA);
  }
  return counted;
}
