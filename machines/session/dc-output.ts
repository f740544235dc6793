// The output of a DC connector. Its limits count in A on each phase of the grid, as in the service (R40). The charger
// and the service exchange W at the car.
import { type DcUnit, ratedMilliwattsPerTenth } from '../values/units.js';

export interface DcOutput {
  /** Power at the car for 1 A on each phase of the grid, W. */
  readonly wattsPerA: number;
  /** Lowest power other than 0, W. */
  readonly leastW: number;
  readonly mostW: number;
  /** Highest voltage at the car, V. A limit in A counts at it, so that no lower voltage gives more power. */
  readonly maxVoltageV: number;
}

/** Far below a watt: the conversion to A and back is not exact. */
const ROUNDING_W = 1e-3;

export function dcOutputOf(unit: DcUnit, maxVoltageV: number): DcOutput {
  const { minPowerKw, maxPowerKw, efficiency } = unit.dc;
  return {
    wattsPerA: (ratedMilliwattsPerTenth({ phases: 3, ...unit }) * efficiency) / 100,
    leastW: Math.round(1000 * minPowerKw),
    mostW: Math.round(1000 * maxPowerKw),
    maxVoltageV,
  };
}

/** Converts W at the car to A on each phase of the grid. */
export function ampereOfDcW(dcW: number, { wattsPerA }: DcOutput): number {
  return dcW / wattsPerA;
}

/** Converts A on each phase of the grid to W at the car, rounded down. */
export function dcWOfAmpere(currentA: number, { wattsPerA, mostW }: DcOutput): number {
  return Math.min(mostW, Math.floor(currentA * wattsPerA + ROUNDING_W));
}
