// What a location draws, as running sums: its power and, where its fuses are known, its current on each phase of the grid.
import type { ConnectorControl } from './connector-control.js';
import { estimatedWOf } from './counted-power.js';
import { type Fuses, gridPhaseOf } from './fuses.js';
import type { MeterLedger } from './meter-ledger.js';
import { ownCurrentsOf } from './pole-loads.js';
import type { DrawnPower, GridTenthsA } from './power-minute.js';

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
  /** What each connector counts with in that. */
  #countedOf: Map<ConnectorControl, GridTenthsA> | undefined;

  constructor(meters: MeterLedger, connectors: Connectors) {
    this.#meters = meters;
    this.#connectors = connectors;
  }

  /** What is measured, and what silent connectors count with. */
  get now(): DrawnPower {
    const estimatedW = this.#estimatedW;
    const actualW = this.#meters.measuredW + (estimatedW ?? 0);
    return { actualW, estimatedW, gridTenthsA: this.#gridTenthsA };
  }

  /** A reading of `control` came. */
  follow(control: ConnectorControl): void {
    if (this.#gridTenthsA === undefined || this.#countedOf === undefined) return;
    const counted = onGridPhases(control);
    const [l1, l2, l3] = this.#countedOf.get(control) ?? NOTHING;
    if (counted[0] === l1 && counted[1] === l2 && counted[2] === l3) return;
    this.#countedOf.set(control, counted);
    const [sum1, sum2, sum3] = this.#gridTenthsA;
    this.#gridTenthsA = [sum1 + counted[0] - l1, sum2 + counted[1] - l2, sum3 + counted[2] - l3];
  }

  /** What silent connectors count with falls with what they may still be entitled to; connectors and fuses may be others. */
  estimate(): void {
    const { fuses, controls } = this.#connectors;
    this.#estimatedW = estimatedWOf(controls.values());
    const before = this.#gridTenthsA;
    const areFusesKnown = fuses.poles.length > 0;
    this.#gridTenthsA = areFusesKnown ? NOTHING : undefined;
    this.#countedOf = areFusesKnown ? new Map() : undefined;
    for (const control of controls.values()) this.follow(control);
    // The same sum stays the same object, which is how a minute sees that nothing changed.
    if (before?.every((tenthsA, i) => tenthsA === this.#gridTenthsA?.[i]) === true)
      this.#gridTenthsA = before;
  }
}

/** Tenths of an ampere; a current of which nobody knows the phase counts on every phase that it may be on, as in the ledger. */
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
