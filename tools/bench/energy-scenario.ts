// The site of the energy bench as a scenario: a single-phase station at 208 V for each station in a file of sessions,
// and the sessions.
import { resolve } from 'node:path';
import { parseScenario } from '../../sim/scenario/parse-scenario.js';
import type { Scenario } from '../../sim/scenario/scenario.js';
import { toInstant } from '../../src/wire/instants.js';
import { readSessions, type SessionFile, type Window } from './energy-sessions.js';

/**
 * `ideal`: cars that follow at once and never taper off. `calm`: realistic cars. `forgetful`: the same, with chargers
 * that keep nothing over a restart. `heavy`: as `calm`, with every fault.
 */
export const COLUMNS = ['ideal', 'calm', 'forgetful', 'heavy'] as const;
export type Column = (typeof COLUMNS)[number];

/** One cell of the table. */
export interface EnergyCase extends Window {
  readonly column: Column;
  readonly capKw: number;
  readonly sessions: SessionFile;
  readonly seed: number;
}

const MAX_A = 32;
const VOLTAGE_V = 208;
const FAILSAFE_A = 6;
/**
 * Every charger reports the arrival and the full battery of a car at once, so the period matters little for ideal cars.
 */
const METER_PERIODS: Readonly<Record<Column, string>> = {
  ideal: '30s',
  calm: '10s',
  forgetful: '10s',
  heavy: '10s',
};

/** Ideal cars follow at once, and their chargers within a second, so no decision has to wait longer for them. */
const SETTINGS: Readonly<Record<Column, Readonly<Record<string, string>>>> = {
  ideal: { HEADROOM_SETTLE_S: '2' },
  calm: {},
  forgetful: {},
  heavy: {},
};

/** Settings of the service for a column. */
export function settingsOf(column: Column): Readonly<Record<string, string>> {
  return SETTINGS[column];
}

/** @throws UnusableFileError if the file of sessions cannot be used. */
export function energyScenario({ column, capKw, sessions, seed, fromMs, untilMs }: EnergyCase): Scenario {
  const { path, energy, timeZone } = sessions;
  const stations = new Set(readSessions(sessions).map(({ station }) => station));
  const file = {
    name: `Energy under ${capKw} kW, ${column}`,
    seed,
    start: toInstant(fromMs),
    duration: `${untilMs - fromMs}ms`,
    meterPeriod: METER_PERIODS[column],
    keepsThen: column !== 'forgetful',
    sites: {
      count: 1,
      chargers: stations.size,
      connectors: 1,
      permanentLimitKw: capKw,
      phases: 1,
      voltageV: VOLTAGE_V,
      maxCurrentA: MAX_A,
      failsafeA: FAILSAFE_A,
    },
    sessions: { csv: { file: resolve(path), from: toInstant(fromMs), energy, timeZone } },
    vehicles: [{ name: 'car', maxKw: 6.6, phases: 1, ...(column === 'ideal' ? { ideal: true } : {}) }],
    faults: column === 'heavy' ? 'heavy' : 'none',
  };
  // JSON is valid YAML.
  return parseScenario(JSON.stringify(file), path);
}
