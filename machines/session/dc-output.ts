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

/** Charger and car follow a lower limit within this time. */
const FOLLOWED_WITHIN_MS = 15_000;
/** Cars with a lower voltage are unknown: DC chargers begin at 150 V (CCS, CHAdeMO). */
const LOWEST_CAR_V = 150;

/**
 * Voltage of a car whose charger takes amperes and reports no voltage: the highest power so far for an ampere of the
 * limit. The true voltage is no lower, because the car stays within its limit.
 */
export class CarVoltage {
  #atLeastV = LOWEST_CAR_V;
  #limitA = 0;
  /** Before that instant the draw may belong to an earlier and higher limit. */
  #countsFromMs = Number.NEGATIVE_INFINITY;

  get atLeastV(): number {
    return this.#atLeastV;
  }

  /** @param limitA limit of the charger at the car */
  note(powerW: number, limitA: number, nowMs: number): void {
    if (limitA < this.#limitA) this.#countsFromMs = nowMs + FOLLOWED_WITHIN_MS;
    this.#limitA = limitA;
    if (limitA > 0 && nowMs >= this.#countsFromMs) this.#atLeastV = Math.max(this.#atLeastV, powerW / limitA);
  }

  /** The next car may have a lower voltage. */
  forget(): void {
    this.#atLeastV = LOWEST_CAR_V;
  }
}
