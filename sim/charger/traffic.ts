// Draws the cars of a connector from a seed: the same seed gives the same cars at the same times.
import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import type { EpochMs } from '../../machines/values/time.js';
import type { ChargingPreferences } from '../../src/wire/charging-preferences.js';
import { toInstant } from '../../src/wire/instants.js';
import { type Car, onVisit } from './car.js';

type Range = readonly [from: number, to: number];

/** Distribution of visits. Units are seconds, kWh and A per phase; shares and states of charge range from 0 to 1. */
export interface Traffic {
  readonly firstArrivalS: Range;
  readonly gapS: Range;
  readonly stayS: Range;
  readonly batteryKwh: Range;
  readonly stateOfCharge: Range;
  /** All are equally likely. */
  readonly maxCurrentsA: readonly [number, ...number[]];
  readonly singlePhaseShare: number;
  /** If left out, no car uses two phases. */
  readonly twoPhaseShare?: number;
  /** Share of the cars on fewer phases that go on to three within ten minutes; 0 if left out. */
  readonly morePhasesShare?: number;
  /** At most 2 s, so that every car has followed a changed offer within 5 s. */
  readonly reactionS: Range;
  /** Cars that never charge again after a pause. */
  readonly stubbornShare: number;
  /** If left out, no car declares its departure. */
  readonly declaring?: Declaring;
}

/** Drivers who declare departures and needs, true ones and false ones. */
export interface Declaring {
  /** Share of the cars. */
  readonly share: number;
  /** Wall clock at the instant at which the times of cars are 0. */
  readonly zeroAt: EpochMs;
}

/** A public car park in real time: a first car soon, then visits of half an hour to some hours. */
export const EVERYDAY: Traffic = {
  firstArrivalS: [0, 20],
  gapS: [60, 1800],
  stayS: [1800, 14_400],
  batteryKwh: [40, 90],
  stateOfCharge: [0.15, 0.85],
  maxCurrentsA: [10, 16, 16, 32],
  singlePhaseShare: 0.2,
  reactionS: [0.5, 2],
  stubbornShare: 0.05,
};

/** For viewers: tiny batteries, so that cars arrive, taper, fill and leave within a minute or two. */
export const LIVELY: Traffic = {
  ...EVERYDAY,
  firstArrivalS: [0, 6],
  gapS: [3, 12],
  stayS: [40, 120],
  batteryKwh: [0.15, 0.4],
  stateOfCharge: [0.1, 0.6],
};

/** For viewers of a binding limit: cars that need more, in quick succession. */
export const CROWDED: Traffic = {
  ...LIVELY,
  gapS: [3, 8],
  stayS: [60, 180],
  batteryKwh: [0.4, 1.2],
  maxCurrentsA: [16, 32, 32],
};

/** The hardest load for a limit: cars that arrive at once, take all available power and never leave. */
export const HUNGRY: Traffic = {
  firstArrivalS: [0, 0],
  gapS: [0, 0],
  stayS: [1e7, 1e7],
  batteryKwh: [1e6, 1e6],
  stateOfCharge: [0, 0],
  maxCurrentsA: [1000],
  singlePhaseShare: 0,
  reactionS: [2, 2],
  stubbornShare: 0,
};

function drawFrom([from, to]: Range, random: RandomGenerator): number {
  return from + (to - from) * uniformFloat64(random);
}

/** Draws the next car of a connector that is free from `fromMs` on (milliseconds). */
export function drawCar(traffic: Traffic, random: RandomGenerator, fromMs: number, isFirst: boolean): Car {
  const waitS = drawFrom(isFirst ? traffic.firstArrivalS : traffic.gapS, random);
  const arrivesAtMs = Math.round(fromMs + 1000 * waitS);
  const leavesAtMs = Math.round(arrivesAtMs + 1000 * drawFrom(traffic.stayS, random));
  const batteryWh = Math.round(1000 * drawFrom(traffic.batteryKwh, random));
  const storedWh = Math.round(batteryWh * drawFrom(traffic.stateOfCharge, random));
  const [first, ...others] = traffic.maxCurrentsA;
  const pick = Math.floor((1 + others.length) * uniformFloat64(random));
  const maxCurrentA = others[pick - 1] ?? first;
  const phases = drawPhases(traffic, random);
  const reactionMs = Math.round(1000 * drawFrom(traffic.reactionS, random));
  const isStubborn = uniformFloat64(random) < traffic.stubbornShare;
  const { morePhasesShare = 0 } = traffic;
  const goesOn = morePhasesShare > 0 && phases < 3 && uniformFloat64(random) < morePhasesShare;
  const usesAllFromMs = goesOn ? Math.round(arrivesAtMs + drawFrom(GOES_ON_MS, random)) : undefined;
  return onVisit(
    { phases, usesAllFromMs, maxCurrentA, batteryWh, storedWh, reactionMs, isStubborn },
    { arrivesAtMs, leavesAtMs },
  );
}

const GOES_ON_MS: Range = [10_000, 600_000];

function drawPhases({ singlePhaseShare, twoPhaseShare = 0 }: Traffic, random: RandomGenerator): 1 | 2 | 3 {
  const drawn = uniformFloat64(random);
  if (drawn < singlePhaseShare) return 1;
  return drawn < singlePhaseShare + twoPhaseShare ? 2 : 3;
}

const MS_PER_H = 3_600_000;
/** A driver plans no longer stay, even if the car never leaves. */
const LONGEST_PLAN_MS = 2 * MS_PER_H;
/** Of the planned stay: the car leaves later than declared, or earlier. */
const PLANNED: Range = [0.2, 1.5];
/** Of the energy that arrives at 11 kW within the stay: much too little, or too much. */
const ASKED_W = 11_000;
const ASKED: Range = [0.02, 3];
const SECOND_THOUGHT_AFTER_MS: Range = [30_000, 1_200_000];

/** The car as its driver declares it: in some cases incompletely or not at all, and in some anew after a while. */
export function declared(car: Car, { share, zeroAt }: Declaring, random: RandomGenerator): Car {
  if (uniformFloat64(random) >= share) return car;
  const preferences = drawPreferences(car, zeroAt, random);
  if (uniformFloat64(random) >= 0.3) return onVisit({ ...car, preferences }, car);
  const fromMs = Math.round(car.arrivesAtMs + drawFrom(SECOND_THOUGHT_AFTER_MS, random));
  const secondThought = { fromMs, preferences: drawPreferences(car, zeroAt, random) };
  return onVisit({ ...car, preferences, secondThought }, car);
}

function drawPreferences(
  { arrivesAtMs, leavesAtMs }: Car,
  zeroAt: EpochMs,
  random: RandomGenerator,
): ChargingPreferences {
  const stayMs = Math.min(leavesAtMs - arrivesAtMs, LONGEST_PLAN_MS);
  const departsAt = zeroAt + Math.round(arrivesAtMs + stayMs * drawFrom(PLANNED, random));
  const asked = ASKED[0] * (ASKED[1] / ASKED[0]) ** uniformFloat64(random);
  const energyNeedKwh = (ASKED_W * stayMs * asked) / MS_PER_H / 1000;
  const isComplete = uniformFloat64(random) < 0.85;
  const hasDeparture = isComplete || uniformFloat64(random) < 0.5;
  const hasNeed = isComplete || !hasDeparture;
  const hasMinimum = hasNeed && uniformFloat64(random) < 0.5;
  const minimumEnergyKwh = Math.min(energyNeedKwh, drawFrom([0.2, 4], random));
  const hasPriority = uniformFloat64(random) < 0.5;
  const priority = Math.floor(drawFrom([0, 4], random));
  return {
    ...(hasDeparture && { departureTime: toInstant(departsAt) }),
    ...(hasNeed && { energyNeedKwh }),
    ...(hasMinimum && { minimumEnergyKwh }),
    ...(hasPriority && { priority }),
  };
}
