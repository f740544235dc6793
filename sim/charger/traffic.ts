// Who comes to a connector, drawn from a seed: the same seed brings the same cars at the same times.
import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import type { Car } from './car.js';

type Range = readonly [from: number, to: number];

/** What visits are like. Seconds, kWh, and states of charge from 0 to 1. */
export interface Traffic {
  readonly firstArrivalS: Range;
  readonly gapS: Range;
  readonly stayS: Range;
  readonly batteryKwh: Range;
  readonly stateOfCharge: Range;
}

/** A public car park in real time: somebody soon, then visits of half an hour to some hours. */
export const EVERYDAY: Traffic = {
  firstArrivalS: [0, 20],
  gapS: [60, 1800],
  stayS: [1800, 14_400],
  batteryKwh: [40, 90],
  stateOfCharge: [0.15, 0.85],
};

/** For people who watch: tiny batteries, so that cars come, taper, fill and leave within a minute or two. */
export const LIVELY: Traffic = {
  firstArrivalS: [0, 6],
  gapS: [3, 12],
  stayS: [40, 120],
  batteryKwh: [0.15, 0.4],
  stateOfCharge: [0.1, 0.6],
};

const MAXIMUM_CURRENTS_A = [10, 16, 16, 32] as const;
const SINGLE_PHASE_SHARE = 0.2;

function drawFrom([from, to]: Range, random: RandomGenerator): number {
  return from + (to - from) * uniformFloat64(random);
}

/** The next car of a connector that is free from `fromMs` on (milliseconds). */
export function drawCar(traffic: Traffic, random: RandomGenerator, fromMs: number, isFirst: boolean): Car {
  const waitS = drawFrom(isFirst ? traffic.firstArrivalS : traffic.gapS, random);
  const arrivesAtMs = Math.round(fromMs + 1000 * waitS);
  const leavesAtMs = Math.round(arrivesAtMs + 1000 * drawFrom(traffic.stayS, random));
  const batteryWh = Math.round(1000 * drawFrom(traffic.batteryKwh, random));
  const storedWh = Math.round(batteryWh * drawFrom(traffic.stateOfCharge, random));
  const pick = Math.floor(MAXIMUM_CURRENTS_A.length * uniformFloat64(random));
  const maxCurrentA = MAXIMUM_CURRENTS_A[pick] ?? MAXIMUM_CURRENTS_A[0];
  const phases = uniformFloat64(random) < SINGLE_PHASE_SHARE ? 1 : 3;
  return { phases, maxCurrentA, batteryWh, storedWh, arrivesAtMs, leavesAtMs };
}
