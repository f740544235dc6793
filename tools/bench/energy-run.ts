// Entry point of a thread that runs one case of the energy bench and returns its figures.
import { parentPort, workerData } from 'node:worker_threads';
import type { LocationSummary } from '../../sim/report/summary.js';
import { runScenario } from '../../sim/run/run-scenario.js';
import { toInstant } from '../../src/wire/instants.js';
import { CAR_KW, type EnergyCase, energyScenario, settingsOf } from './energy-scenario.js';

/**
 * Figures of a case. Energies in kWh of sessions; `fairness` is Jain's index over the share of its request that each
 * session got.
 */
export interface EnergyFigures {
  readonly deliveredKwh: number;
  readonly overshootKws: number;
  readonly startsPerSession: number;
  readonly stopsPerSession: number;
  readonly fairness: number;
  /** Sessions with less than 90 % of the energy that their cars could take in their stay. */
  readonly short: number;
  readonly violations: number;
  /** The first violation: its invariant, instant and detail; left out without one. */
  readonly firstViolation?: string;
  readonly messages: number;
}

const SERVED = 0.9;

function shortOf({ connectors }: LocationSummary, untilMs: number): number {
  return connectors
    .flatMap(({ visits }) => visits)
    .filter(({ arrivedAtMs, leftAtMs = untilMs, requestedWh, deliveredWh }) => {
      const couldTakeWh = (CAR_KW * (leftAtMs - arrivedAtMs)) / 3600;
      return deliveredWh < SERVED * Math.min(requestedWh, couldTakeWh);
    }).length;
}

const energyCase: EnergyCase = workerData;
const { summary, counts, violations } = await runScenario(energyScenario(energyCase), {
  settings: settingsOf(energyCase.column),
});
const [site] = summary.locations;
const [first] = violations;
const figures: EnergyFigures = {
  deliveredKwh: (site?.deliveredWh ?? 0) / 1000,
  overshootKws: site?.overshootKws ?? Number.NaN,
  startsPerSession: site?.startsPerSession ?? Number.NaN,
  stopsPerSession: site?.stopsPerSession ?? Number.NaN,
  fairness: site?.fairness ?? Number.NaN,
  short: site === undefined ? Number.NaN : shortOf(site, energyCase.untilMs),
  violations: summary.violations,
  ...(first && { firstViolation: `${first.invariant} at ${toInstant(first.atMs)}: ${first.detail}` }),
  messages: counts.fromChargers + counts.toChargers,
};
parentPort?.postMessage(figures);
