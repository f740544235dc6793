// Options of the simulator's commands, separate from their implementation, so that the help loads none of it.
import { availableParallelism } from 'node:os';
import { InvalidArgumentError, Option } from 'commander';
import type { EpochMs } from '../machines/values/time.js';
import type { ConnectorName } from '../sim/log/trace-state.js';
import { LARGEST_SEED } from '../sim/scenario/draw.js';
import type { FaultLevel } from '../sim/scenario/fault-schema.js';
import { parseInstant } from '../sim/scenario/moment.js';
import { TRANSPORTS, type Transport } from '../sim/scenario/scenario.js';

export interface ScenarioFlags {
  readonly seed?: number;
  readonly days?: number;
  readonly transport?: Transport;
  readonly faults?: FaultLevel;
}

export interface RunFlags extends ScenarioFlags {
  readonly workers: number;
  readonly out?: string;
  readonly junit?: string;
  readonly csv?: string;
  readonly json?: true;
}

export interface ReplayFlags {
  readonly at?: EpochMs;
  readonly connector?: ConnectorName;
  readonly json?: true;
}

export interface CompareFlags {
  readonly out?: string;
  readonly json?: true;
}

export interface BranchFlags extends ScenarioFlags {
  readonly at: EpochMs;
  readonly workers: number;
  readonly out?: string;
  readonly json?: true;
}

export interface SandboxFlags extends Pick<ScenarioFlags, 'seed'> {
  readonly days: number;
  readonly start?: EpochMs;
  readonly speed: number;
  readonly host: string;
  readonly port: number;
  readonly controlPort: number;
}

/** Virtual seconds for each true second, in a sandbox. */
export const FASTEST = 3_600;

export interface SeedsFlags extends ScenarioFlags {
  readonly count: number;
  readonly from: number;
  readonly faults?: FaultLevel;
  readonly jobs: number;
  readonly junit?: string;
  readonly csv?: string;
  readonly json?: true;
}

export function wholeNumber(least: number, most: number) {
  return (text: string): number => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
  };
}

function days(text: string): number {
  const value = /^\d{1,3}(\.\d{1,6})?$/.test(text) ? Number(text) : Number.NaN;
  if (value > 0 && value <= 366) return value;
  throw new InvalidArgumentError('It must be a number of days above 0, at most 366, such as 1 or 0.5.');
}

export function seedOption(): Option {
  return new Option('--seed <n>', "replaces the scenario's seed; the same seed gives the same run").argParser(
    wholeNumber(0, LARGEST_SEED),
  );
}

export function daysOption(): Option {
  return new Option(
    '--days <d>',
    "replaces the scenario's duration, in days; later calls are left out",
  ).argParser(days);
}

export function transportOption(): Option {
  return new Option(
    '--transport <kind>',
    'inProcess is fast; mqtt sends every message through the real broker; with ocpp every charger speaks OCPP to the gateway',
  ).choices(TRANSPORTS);
}

export function workersOption(): Option {
  return new Option(
    '--workers <n>',
    'number of threads that share the locations; the run is the same with any number',
  )
    .argParser(wholeNumber(1, 64))
    .default(availableParallelism());
}

export function junitOption(): Option {
  return new Option('--junit <file>', 'write the result as JUnit XML, for a CI server');
}

export function csvOption(): Option {
  return new Option(
    '--csv <dir>',
    'write connectors.csv and sessions.csv there, a row for each connector and each car',
  );
}

export function instant(text: string): EpochMs {
  const parsed = parseInstant(text);
  if (parsed !== undefined) return parsed.atMs;
  throw new InvalidArgumentError('It must be an instant such as 2026-06-01T17:00:03Z.');
}

export function connectorName(text: string): ConnectorName {
  const end = text.lastIndexOf('/');
  if (end > 0 && end < text.length - 1)
    return { controllerUuid: text.slice(0, end), connectorId: text.slice(end + 1) };
  throw new InvalidArgumentError('It must be a connector such as q1-a/1: its charger and its number.');
}
