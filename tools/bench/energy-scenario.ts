// The site of the energy bench as a scenario: a single-phase station at 208 V for each station in a file of sessions,
// and the sessions.
import { resolve } from 'node:path';
import type { PolicyName } from '../../machines/policy/policies.js';
import { parseScenario } from '../../sim/scenario/parse-scenario.js';
import type { Scenario } from '../../sim/scenario/scenario.js';
import { toInstant } from '../../src/wire/instants.js';
import { readSessions, type SessionFile, type Window } from './energy-sessions.js';

/**
 * `ideal`: cars that follow at once and never taper off. `calm`: realistic cars. `untapered`: as `calm`, but the cars
 * never taper off. `forgetful`: as `calm`, with chargers that keep nothing over a restart. `heavy`: as `calm`, with
 * every fault.
 */
export const COLUMNS = ['ideal', 'untapered', 'calm', 'forgetful', 'heavy'] as const;
export type Column = (typeof COLUMNS)[number];

/** Error of declarations: of the departure, ms, and of the need, as a share; `declared` is the share of all sessions. */
export interface Declared {
  readonly declared: number;
  readonly timeErrorMs: number;
  readonly needError: number;
}

/** One cell of the table. */
export interface EnergyCase extends Window {
  readonly column: Column;
  readonly capKw: number;
  readonly sessions: SessionFile;
  readonly seed: number;
  readonly policy: PolicyName;
  readonly declared: Declared;
}

/** Highest power of the cars, unless the file names it. */
export const CAR_KW = 6.6;
const MAX_A = 32;
const VOLTAGE_V = 208;
const FAILSAFE_A = 6;
/**
 * Every charger reports the arrival and the full battery of a car at once, so the period matters little for ideal cars.
 */
const METER_PERIODS: Readonly<Record<Column, string>> = {
  ideal: '30s',
  untapered: '10s',
  calm: '10s',
  forgetful: '10s',
  heavy: '10s',
};

/** Ideal cars follow at once, and their chargers within a second, so no decision has to wait longer for them. */
const SETTINGS: Readonly<Record<Column, Readonly<Record<string, string>>>> = {
  ideal: { HEADROOM_SETTLE_S: '2' },
  untapered: {},
  calm: {},
  forgetful: {},
  heavy: {},
};

const CARS: Readonly<Record<Column, { readonly ideal?: true; readonly taper?: number }>> = {
  ideal: { ideal: true },
  untapered: { taper: 1 },
  calm: {},
  forgetful: {},
  heavy: {},
};

/** Settings of the service for a column. */
export function settingsOf(column: Column): Readonly<Record<string, string>> {
  return SETTINGS[column];
}

/** @throws UnusableFileError if the file of sessions cannot be used. */
export function energyScenario(energyCase: EnergyCase): Scenario {
  const { column, capKw, sessions, seed, fromMs, untilMs, policy, declared } = energyCase;
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
      policy,
      phases: 1,
      voltageV: VOLTAGE_V,
      maxCurrentA: MAX_A,
      failsafeA: FAILSAFE_A,
    },
    sessions: { csv: { file: resolve(path), from: toInstant(fromMs), energy, timeZone } },
    ...(policy !== 'equal' && {
      departures: {
        declared: declared.declared,
        timeError: `${declared.timeErrorMs}ms`,
        needError: declared.needError,
      },
    }),
    vehicles: [{ name: 'car', maxKw: CAR_KW, phases: 1, ...CARS[column] }],
    faults: column === 'heavy' ? 'heavy' : 'none',
  };
  // JSON is valid YAML.
  return parseScenario(JSON.stringify(file), path);
}
