// Kilowatts, watts and amperes of a connector: conversions in one place, so that rounding always errs to safety.

/** Least current a car may be throttled to, in A (contract section 8; IEC 61851-1 pilot minimum). */
export const MINIMUM_CURRENT_A = 6;

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

/** The connector's 6 A floor in kW: `6 × voltageV × phases / 1000`. */
export function floorKwOf(rating: ConnectorRating): number {
  return (MINIMUM_CURRENT_A * rating.voltageV * rating.phases) / 1000;
}

/** Current in A per phase that `limitKw` allows, rounded down to 0.1 A so that it never exceeds the limit. */
export function currentAOf(limitKw: number, rating: ConnectorRating): number {
  const tenthsA = Math.floor((limitKw * 10_000) / (rating.voltageV * rating.phases) + 1e-9);
  return Math.min(tenthsA / 10, rating.maxCurrentA);
}
