// A car as a charger sees it: how much it takes, and how that tapers off as its battery fills.

/** A car on its visit. Energies in Wh, currents in A per phase, instants in milliseconds. */
export interface Car {
  readonly phases: 1 | 3;
  readonly maxCurrentA: number;
  readonly batteryWh: number;
  readonly storedWh: number;
  readonly arrivesAtMs: number;
  readonly leavesAtMs: number;
}

const TAPER_FROM = 0.8;
const TAPER_TO_SHARE = 0.1;
/** Cars take up an offered current within seconds, not at once. */
const RAMP_A_PER_S = 4;

/** Stored energy as a share of the battery, 0 to 1. */
export function stateOfCharge(car: Car): number {
  return car.storedWh / car.batteryWh;
}

export function isFull(car: Car): boolean {
  return car.storedWh >= car.batteryWh;
}

/** The most the car takes now, A per phase: its maximum up to 80 % charge, a tenth of it at the end, 0 when full. */
export function acceptedCurrentA(car: Car): number {
  if (isFull(car)) return 0;
  const beyond = Math.max(0, stateOfCharge(car) - TAPER_FROM) / (1 - TAPER_FROM);
  return car.maxCurrentA * (1 - beyond * (1 - TAPER_TO_SHARE));
}

/** What the car draws `elapsedMs` after drawing `drawnA`, when it is offered `offeredA` (all A per phase). */
export function nextCurrentA(car: Car, drawnA: number, offeredA: number, elapsedMs: number): number {
  const wantedA = Math.min(acceptedCurrentA(car), offeredA);
  return Math.min(wantedA, drawnA + (RAMP_A_PER_S * elapsedMs) / 1000);
}

/** The car with `energyWh` more in its battery, never more than fits. */
export function charge(car: Car, energyWh: number): Car {
  return { ...car, storedWh: Math.min(car.batteryWh, car.storedWh + energyWh) };
}
