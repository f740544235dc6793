// Kilowatts, watts and amperes of a connector: conversions in one place, so that rounding always errs to safety.

/** Least current a car may be throttled to, in A (contract section 8; IEC 61851-1 pilot minimum). */
export const MINIMUM_CURRENT_A = 6;

/** The same in tenths of an ampere, in which all currents are counted that are promised to chargers. */
export const MINIMUM_TENTHS_A = 10 * MINIMUM_CURRENT_A;

/** What a DC connector can give a car. */
export interface DcRating {
  readonly maxPowerKw: number;
  /** It cannot give less than this, other than nothing. */
  readonly minPowerKw: number;
  /** The share of what it takes from the grid that arrives at the car; above 0, at most 1. */
  readonly efficiency: number;
}

/** The electrical shape of a connector. `voltageV` is phase to neutral, per phase. */
export interface ConnectorRating {
  /** 3 for DC, which loads all phases alike. */
  readonly phases: 1 | 3;
  readonly voltageV: number;
  /** For DC: what its maximum takes from each phase at the lowest voltage (`mostTenthsAOf`). */
  readonly maxCurrentA: number;
  /** null or left out for AC. */
  readonly dc?: DcRating | null;
}

/** Tenths of an ampere, rounded down: what may safely be promised of `currentA`. */
export function tenthsAOf(currentA: number): number {
  return Math.floor(currentA * 10 + 1e-6);
}

/** Without a measured voltage a current is taken to carry this much more power than its nominal one would (rule 11). */
const CAP_VOLTAGE = 1.1;

/** The voltage a current is taken to have before it was ever measured: nominal + 10 %, in whole volts, rounded up. */
function capVoltageV({ voltageV }: Pick<ConnectorRating, 'voltageV'>): number {
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

/**
 * A power takes the most current at the lowest voltage that a grid has as a rule: 10 % below nominal (EN 50160). A DC
 * connector holds a power and not a current, so its amperes are counted at that voltage.
 */
const LEAST_VOLTAGE = 0.9;

/** Power from the grid of a tenth of an ampere before any voltage was measured, mW: an integer. */
export function ratedMilliwattsPerTenth(rating: Omit<ConnectorRating, 'maxCurrentA'>): number {
  const { phases, voltageV, dc } = rating;
  if (dc == null) return milliwattsPerTenthA(capVoltageV(rating), phases);
  return milliwattsPerTenthA(Math.floor(voltageV * LEAST_VOLTAGE + 1e-6), 3);
}

/** The least that a connector can be told other than 0, tenths of A per phase: 6 A for AC. */
export function leastTenthsAOf(rating: Pick<ConnectorRating, 'voltageV' | 'dc'>): number {
  const { voltageV, dc } = rating;
  if (dc == null) return MINIMUM_TENTHS_A;
  return Math.max(1, tenthsOfDcW(1000 * dc.minPowerKw, { voltageV, dc }));
}

/** What turns the power of a DC connector into current. */
export interface DcUnit {
  readonly voltageV: number;
  readonly dc: DcRating;
}

/** What `dcW` at the car may take from each phase of the grid, tenths of an ampere, rounded up. */
export function tenthsOfDcW(dcW: number, { voltageV, dc }: DcUnit): number {
  const milliwatts = ratedMilliwattsPerTenth({ phases: 3, voltageV, dc });
  return Math.max(0, Math.ceil((dcW * 1000) / dc.efficiency / milliwatts - 1e-9));
}

/** The most power at the car, whole W, that takes no more than `tenthsA` from each phase. */
export function dcWOfTenths(tenthsA: number, { voltageV, dc }: DcUnit): number {
  const milliwatts = ratedMilliwattsPerTenth({ phases: 3, voltageV, dc });
  const fittingW = Math.floor((tenthsA * milliwatts * dc.efficiency) / 1000 + 1e-6);
  return Math.min(fittingW, Math.round(1000 * dc.maxPowerKw));
}

/** What `dcW` at the car takes from the grid, whole W, rounded up. */
export function gridWOfDcW(dcW: number, { efficiency }: DcRating): number {
  return Math.ceil(dcW / efficiency - 1e-6);
}
