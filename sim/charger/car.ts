// A car from the charger's side: accepted current, taper as the battery fills, and reaction time.
import { MINIMUM_CURRENT_A } from '../../machines/values/units.js';
import type { ChargingPreferences } from '../../src/wire/charging-preferences.js';

/** A visiting car. Energies are in Wh, currents in A per phase, instants and durations in milliseconds. */
export interface Car {
  readonly phases: 1 | 2 | 3;
  /** From this instant on the car uses all three phases; undefined means never. */
  readonly usesAllFromMs?: number | undefined;
  readonly maxCurrentA: number;
  readonly batteryWh: number;
  /** Energy in the battery at arrival. */
  readonly storedWh: number;
  readonly arrivesAtMs: number;
  readonly leavesAtMs: number;
  /** Delay until the car follows a changed offer; at most 2 s, so that the car has followed within 5 s. */
  readonly reactionMs: number;
  /** After a pause the car never charges again on this visit. */
  readonly isStubborn: boolean;
  /** State of charge, 0 to 1, from which the car takes less and less; 1 for a car without a taper. */
  readonly taperFrom?: number | undefined;
  /** A car for comparison with another model: it charges from its arrival, follows at once and never tapers off. */
  readonly isIdeal?: boolean | undefined;
  /** Session of the visit, if the source of the cars counts sessions. */
  readonly sessionId?: string | undefined;
  /** Needs that the charger declares for it; undefined for a driver who declares nothing. */
  readonly preferences?: ChargingPreferences | undefined;
  /** The driver's later needs, which replace these from `fromMs` on; undefined for a driver who keeps to the first. */
  readonly secondThought?: { readonly fromMs: number; readonly preferences: ChargingPreferences } | undefined;
}

/** Returns the next car of a connector that is free from `fromMs` on; the car does not arrive before. */
export type NextCar = (fromMs: number) => Car;

export type VisitingCar = Omit<Car, 'arrivesAtMs' | 'leavesAtMs' | 'sessionId'>;

/** Creates every car in one object shape, so that the compiled code that reads cars stays valid. */
export function onVisit(
  {
    phases,
    usesAllFromMs,
    maxCurrentA,
    batteryWh,
    storedWh,
    reactionMs,
    isStubborn,
    taperFrom,
    isIdeal,
    preferences,
    secondThought,
  }: VisitingCar,
  { arrivesAtMs, leavesAtMs, sessionId }: Pick<Car, 'arrivesAtMs' | 'leavesAtMs' | 'sessionId'>,
): Car {
  return {
    phases,
    usesAllFromMs,
    maxCurrentA,
    batteryWh,
    storedWh,
    arrivesAtMs,
    leavesAtMs,
    reactionMs,
    isStubborn,
    taperFrom,
    isIdeal,
    sessionId,
    preferences,
    secondThought,
  };
}

/** Next car of a connector that gets no further cars. */
export const NO_CAR = onVisit(
  { phases: 3, maxCurrentA: 0, batteryWh: 0, storedWh: 0, reactionMs: 0, isStubborn: false },
  { arrivesAtMs: Number.POSITIVE_INFINITY, leavesAtMs: Number.POSITIVE_INFINITY },
);

export function phasesAt({ phases, usesAllFromMs = Number.POSITIVE_INFINITY }: Car, atMs: number): 1 | 2 | 3 {
  return atMs >= usesAllFromMs ? 3 : phases;
}

/** Values of L1, L2 and L3 as the outlet is wired; voltages are phase to neutral. */
export type PerPhase = readonly [number, number, number];

/** A car arrived at an outlet or left it; `deliveredWh` is the energy of this visit. */
export interface CarNote {
  readonly what: 'arrived' | 'left';
  readonly atMs: number;
  readonly car: Car;
  readonly deliveredWh: number;
}

const TAPER_FROM = 0.8;
const TAPER_TO_SHARE = 0.1;
/** Cars take up an offered current within seconds, not at once. */
const RISE_A_PER_S = 4;
const FALL_A_PER_S = 16;
/** A car of any size has followed a lower current after this time. */
const FALL_TAKES_S = 2;

/** Stored energy at which the taper begins, in Wh; infinite for a car that never tapers off. */
export function taperBeginsAtWh({ batteryWh, taperFrom = TAPER_FROM, isIdeal }: Car): number {
  return isIdeal || taperFrom >= 1 ? Number.POSITIVE_INFINITY : taperFrom * batteryWh;
}

/** Highest current of the car, A per phase: its maximum until the taper, a tenth of that at the end, 0 when full. */
export function acceptedCurrentA(car: Car, storedWh: number): number {
  if (storedWh >= car.batteryWh) return 0;
  const { taperFrom = TAPER_FROM } = car;
  if (car.isIdeal || taperFrom >= 1) return car.maxCurrentA;
  const beyond = Math.max(0, storedWh / car.batteryWh - taperFrom) / (1 - taperFrom);
  return car.maxCurrentA * (1 - beyond * (1 - TAPER_TO_SHARE));
}

/** Current that the car takes of an offer, A per phase; 0 for an offer below `leastA`. */
export function wantedCurrentA(
  car: Car,
  storedWh: number,
  offeredA: number,
  leastA = MINIMUM_CURRENT_A,
): number {
  return offeredA < leastA ? 0 : Math.min(acceptedCurrentA(car, storedWh), offeredA);
}

/** Current `elapsedMs` after `drawnA` on the way to `wantedA`, A per phase. */
export function nextCurrentA(car: Car, drawnA: number, wantedA: number, elapsedMs: number): number {
  if (car.isIdeal) return wantedA;
  const elapsedS = elapsedMs / 1000;
  if (wantedA >= drawnA) return Math.min(wantedA, drawnA + RISE_A_PER_S * elapsedS);
  const fallAPerS = Math.max(FALL_A_PER_S, car.maxCurrentA / FALL_TAKES_S);
  return Math.max(wantedA, drawnA - fallAPerS * elapsedS);
}
