// Conversions between kW, W and A of a connector, in one place, so that rounding always errs to safety.

/** Lowest current that a car may be throttled to, A (contract section 8; IEC 61851-1 pilot minimum). */
export const MINIMUM_CURRENT_A = 6;

/** The same in tenths of an ampere, the unit of all granted currents. */
export const MINIMUM_TENTHS_A = 10 * MINIMUM_CURRENT_A;

/** Power that a DC connector can give a car. */
export interface DcRating {
  readonly maxPowerKw: number;
  /** Smallest power other than 0. */
  readonly minPowerKw: number;
  /** Share of the power from the grid that arrives at the car; above 0, at most 1. */
  readonly efficiency: number;
}

/** The electrical shape of a connector. `voltageV` is phase to neutral, per phase. */
export interface ConnectorRating {
  /** 3 for DC, which loads all phases alike. */
  readonly phases: 1 | 3;
  readonly voltageV: number;
  /** For DC: the current on each phase at maximum power and lowest voltage (`tenthsOfDcW`). */
  readonly maxCurrentA: number;
  /** Null or left out for AC. */
  readonly dc?: DcRating | null;
}

/** Tenths of an ampere, rounded down: the part of `currentA` that is safe to grant. */
export function tenthsAOf(currentA: number): number {
  return Math.floor(currentA * 10 + 1e-6);
}

/** Without a measured voltage, a current counts with this much more power than at nominal voltage (power-safety.md). */
const CAP_VOLTAGE = 1.1;

/** Voltage assumed before any measurement: nominal + 10 %, in whole volts, rounded up. */
function capVoltageV({ voltageV }: Pick<ConnectorRating, 'voltageV'>): number {
  return Math.ceil(voltageV * CAP_VOLTAGE - 1e-6);
}

/** mW, an integer. `voltageV` in whole volts. */
export function milliwattsPerTenthA(voltageV: number, phases: 1 | 3): number {
  return voltageV * phases * 100;
}

/** W, rounded up, so that a power never counts as less than it is. `tenthsA` per phase. */
export function wattsOfTenths(tenthsA: number, milliwattsPerTenth: number): number {
  return Math.ceil((tenthsA * milliwattsPerTenth) / 1000);
}

/** Tenths of an ampere per phase, rounded down, so that the current never exceeds the limit. */
export function tenthsWithin(limitW: number, milliwattsPerTenth: number): number {
  return Math.floor((limitW * 1000) / milliwattsPerTenth);
}

/** Whole watts, rounded down. A limit that no integer can hold is as good as no limit. */
export function wattsOfLimit(limitKw: number): number {
  return Math.min(Math.floor(limitKw * 1000 + 1e-6), Number.MAX_SAFE_INTEGER);
}

/**
 * A power takes the most current at the lowest usual voltage of a grid: 10 % below nominal (EN 50160). A DC connector
 * holds a power and not a current, so its amperes are counted at that voltage.
 */
const LEAST_VOLTAGE = 0.9;

/** Power from the grid of a tenth of an ampere before any voltage was measured, mW: an integer. */
export function ratedMilliwattsPerTenth(rating: Omit<ConnectorRating, 'maxCurrentA'>): number {
  const { phases, voltageV, dc } = rating;
  if (dc == null) return milliwattsPerTenthA(capVoltageV(rating), phases);
  return milliwattsPerTenthA(Math.floor(voltageV * LEAST_VOLTAGE + 1e-6), 3);
}

/** Smallest limit of a connector other than 0, tenths of A per phase: 6 A for AC. */
export function leastTenthsAOf(rating: Pick<ConnectorRating, 'voltageV' | 'dc'>): number {
  const { voltageV, dc } = rating;
  if (dc == null) return MINIMUM_TENTHS_A;
  return Math.max(1, tenthsOfDcW(1000 * dc.minPowerKw, { voltageV, dc }));
}

/** Values that convert the power of a DC connector into current. */
export interface DcUnit {
  readonly voltageV: number;
  readonly dc: DcRating;
}

/** Current on each phase of the grid for `dcW` at the car, tenths of an ampere, rounded up. */
export function tenthsOfDcW(dcW: number, { voltageV, dc }: DcUnit): number {
  const milliwatts = ratedMilliwattsPerTenth({ phases: 3, voltageV, dc });
  return Math.max(0, Math.ceil((dcW * 1000) / dc.efficiency / milliwatts - 1e-9));
}

/** Highest power at the car, whole W, that takes no more than `tenthsA` from each phase (R39, R40). */
export function dcWOfTenths(tenthsA: number, { voltageV, dc }: DcUnit): number {
  const milliwatts = ratedMilliwattsPerTenth({ phases: 3, voltageV, dc });
  const fittingW = Math.floor((tenthsA * milliwatts * dc.efficiency) / 1000 + 1e-6);
  return Math.min(fittingW, Math.round(1000 * dc.maxPowerKw));
}

/** Power from the grid for `dcW` at the car, whole W, rounded up. */
export function gridWOfDcW(dcW: number, { efficiency }: DcRating): number {
  return Math.ceil(dcW / efficiency - 1e-6);
}
