// Kilowatts, watts and amperes of a connector: conversions in one place, so that rounding always errs to safety.

/** Least current a car may be throttled to, in A (contract section 8; IEC 61851-1 pilot minimum). */
export const MINIMUM_CURRENT_A = 6;

/** The same in tenths of an ampere, in which all currents are counted that are promised to chargers. */
export const MINIMUM_TENTHS_A = 10 * MINIMUM_CURRENT_A;

/** The electrical shape of a connector. `voltageV` is phase to neutral, per phase. */
export interface ConnectorRating {
  readonly phases: 1 | 3;
  readonly voltageV: number;
  readonly maxCurrentA: number;
}

/** Power in W of `currentA` per phase on all phases of the connector, rounded to the watt. */
export function wattsOf(currentA: number, rating: ConnectorRating): number {
  return Math.round(currentA * rating.voltageV * rating.phases);
}

/** Tenths of an ampere, rounded down: what may safely be promised of `currentA`. */
export function tenthsAOf(currentA: number): number {
  return Math.floor(currentA * 10 + 1e-6);
}

/** Without a measured voltage a current is taken to carry this much more power than its nominal one would (rule 11). */
const CAP_VOLTAGE = 1.1;

/** The voltage a current is taken to have before it was ever measured: nominal + 10 %, in whole volts, rounded up. */
export function capVoltageV({ voltageV }: Pick<ConnectorRating, 'voltageV'>): number {
  return Math.ceil(voltageV * CAP_VOLTAGE - 1e-6);
}

/** Power of a tenth of an ampere on `phases` phases of `voltageV` whole volts, in mW: an integer. */
export function milliwattsPerTenthA(voltageV: number, phases: 1 | 3): number {
  return voltageV * phases * 100;
}

/** Power in W of `tenthsA` per phase, rounded up: it is never thought smaller than it is. */
export function wattsOfTenths(tenthsA: number, milliwattsPerTenth: number): number {
  return Math.ceil((tenthsA * milliwattsPerTenth) / 1000);
}

/** Current in tenths of an ampere per phase that `limitW` allows, rounded down: it never exceeds the limit. */
export function tenthsWithin(limitW: number, milliwattsPerTenth: number): number {
  return Math.floor((limitW * 1000) / milliwattsPerTenth);
}

/** A limit in whole watts, rounded down. What no integer can hold is as good as no limit. */
export function wattsOfLimit(limitKw: number): number {
  return Math.min(Math.floor(limitKw * 1000 + 1e-6), Number.MAX_SAFE_INTEGER);
}
