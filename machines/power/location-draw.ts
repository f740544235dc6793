// What a location draws, as running sums: its power and, where its fuses are known, the current on each phase, of all and of each feeder.
import type { ConnectorControl } from './connector-control.js';
import { estimatedWOf } from './counted-power.js';
import { type Fuses, gridPhaseOf } from './fuses.js';
import type { MeterLedger } from './meter-ledger.js';
import { ownCurrentsOf } from './pole-loads.js';
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
    return { actualW, estimatedW, gridTenthsA: this.#gridTenthsA, feeders: this.#feeders };
  }

  /** A reading of `control` came. */
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

  /** What silent connectors count with falls with what they may still be entitled to; connectors and fuses may be others. */
  estimate(): void {
    const { fuses, controls } = this.#connectors;
    this.#estimatedW = estimatedWOf(controls.values());
    const [before, feedersBefore, names] = [this.#gridTenthsA, this.#feeders, fuses.feederNames];
    const areFusesKnown = fuses.poles.length > 0;
    this.#gridTenthsA = areFusesKnown ? NOTHING : undefined;
    this.#feeders = names.length === 0 ? undefined : { names, tenthsA: names.map(() => NOTHING) };
    this.#countedOf = areFusesKnown ? new Map() : undefined;
    for (const control of controls.values()) this.follow(control);
    // The same sums stay the same objects, which is how a minute sees that nothing changed.
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

/** The sum where one part of it is `now` that was `before`. */
function moved(sum: GridTenthsA, before: GridTenthsA, now: GridTenthsA): GridTenthsA {
  return [sum[0] + now[0] - before[0], sum[1] + now[1] - before[1], sum[2] + now[2] - before[2]];
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
