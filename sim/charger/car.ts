// A car as a charger sees it: how much it takes, how that tapers off as its battery fills, how fast it follows.
import { MINIMUM_CURRENT_A } from '../../machines/values/units.js';

/** A car on its visit. Energies in Wh, currents in A per phase, instants and times in milliseconds. */
export interface Car {
  readonly phases: 1 | 2 | 3;
  /** From then on it uses all three; left out: never. */
  readonly usesAllFromMs?: number | undefined;
  readonly maxCurrentA: number;
  readonly batteryWh: number;
  /** In its battery when it arrives. */
  readonly storedWh: number;
  readonly arrivesAtMs: number;
  readonly leavesAtMs: number;
  /** After this it begins to follow another offer; at most 2 s, so that it has followed within 5 s. */
  readonly reactionMs: number;
  /** Once it was paused it never charges again on this visit. */
  readonly isStubborn: boolean;
  /** The state of charge from which it takes less and less, from 0 to 1; 1 for a car that does not. */
  readonly taperFrom?: number | undefined;
  /** A car of a model to compare with: it charges from the instant it arrives, follows at once and never tapers off. */
  readonly isIdeal?: boolean | undefined;
  /** Of the visit, where somebody counts visits. */
  readonly sessionId?: string | undefined;
}

/** The next car of a connector that is free from `fromMs` on: it does not arrive before. */
export type NextCar = (fromMs: number) => Car;

/** A car without its times. */
export type VisitingCar = Omit<Car, 'arrivesAtMs' | 'leavesAtMs' | 'sessionId'>;

/** `car` on a visit. All are made here, in one shape, so that the compiled code that reads them holds for each. */
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
  };
}

/** Who comes where nobody comes any more. */
export const NO_CAR = onVisit(
  { phases: 3, maxCurrentA: 0, batteryWh: 0, storedWh: 0, reactionMs: 0, isStubborn: false },
  { arrivesAtMs: Number.POSITIVE_INFINITY, leavesAtMs: Number.POSITIVE_INFINITY },
);

/** As many phases as it uses at that instant. */
export function phasesAt({ phases, usesAllFromMs = Number.POSITIVE_INFINITY }: Car, atMs: number): 1 | 2 | 3 {
  return atMs >= usesAllFromMs ? 3 : phases;
}

/** A value of L1, L2 and L3 as the outlet is wired; voltages are phase to neutral. */
export type PerPhase = readonly [number, number, number];

/** A car came to an outlet or left it; `deliveredWh` is what it has got on this visit. */
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

/** What is in its battery when it begins to take less and less; infinite for a car that never does. */
export function taperBeginsAtWh({ batteryWh, taperFrom = TAPER_FROM, isIdeal }: Car): number {
  return isIdeal || taperFrom >= 1 ? Number.POSITIVE_INFINITY : taperFrom * batteryWh;
}

/** The most the car takes, A per phase: its maximum until it tapers off, a tenth of it at the end, 0 when full. */
export function acceptedCurrentA(car: Car, storedWh: number): number {
  if (storedWh >= car.batteryWh) return 0;
  const { taperFrom = TAPER_FROM } = car;
  if (car.isIdeal || taperFrom >= 1) return car.maxCurrentA;
  const beyond = Math.max(0, storedWh / car.batteryWh - taperFrom) / (1 - taperFrom);
  return car.maxCurrentA * (1 - beyond * (1 - TAPER_TO_SHARE));
}

/** What the car wants of an offer, A per phase: nothing of less than `leastA`. */
export function wantedCurrentA(
  car: Car,
  storedWh: number,
  offeredA: number,
  leastA = MINIMUM_CURRENT_A,
): number {
  return offeredA < leastA ? 0 : Math.min(acceptedCurrentA(car, storedWh), offeredA);
}

/** What is drawn `elapsedMs` after `drawnA` on the way to `wantedA` (A per phase). */
export function nextCurrentA(car: Car, drawnA: number, wantedA: number, elapsedMs: number): number {
  if (car.isIdeal) return wantedA;
  const elapsedS = elapsedMs / 1000;
  if (wantedA >= drawnA) return Math.min(wantedA, drawnA + RISE_A_PER_S * elapsedS);
  const fallAPerS = Math.max(FALL_A_PER_S, car.maxCurrentA / FALL_TAKES_S);
  return Math.max(wantedA, drawnA - fallAPerS * elapsedS);
}
