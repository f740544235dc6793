// What the simulator's commands are told: numbers that are checked, and scenario files that are read.
import { readFileSync } from 'node:fs';
import { InvalidArgumentError, Option } from 'commander';
import type { FaultLevel } from '../sim/scenario/fault-levels.js';
import { parseScenario, type ScenarioOverrides } from '../sim/scenario/parse-scenario.js';
import type { Scenario, Transport } from '../sim/scenario/scenario.js';
import { LARGEST_SEED } from '../sim/scenario/scenario-schema.js';
import { OperatorError } from './operator-error.js';

const DAY_MS = 86_400_000;
const TRANSPORTS: readonly Transport[] = ['inProcess', 'mqtt'];

export interface ScenarioFlags {
  readonly seed?: number;
  readonly days?: number;
  readonly transport?: Transport;
  readonly faults?: FaultLevel;
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
  return new Option(
    '--seed <n>',
    "in the place of the scenario's; the same seed gives the same run",
  ).argParser(wholeNumber(0, LARGEST_SEED));
}

export function daysOption(): Option {
  return new Option(
    '--days <d>',
    "in the place of the scenario's duration; later calls are left out",
  ).argParser(days);
}

export function transportOption(): Option {
  return new Option(
    '--transport <kind>',
    'inProcess is fast; mqtt sends every message through the real broker',
  ).choices(TRANSPORTS);
}

/** @throws OperatorError where the file cannot be read. @throws UnusableFileError with every problem of it. */
export function readScenario(path: string, flags: ScenarioFlags): Scenario {
  return parseScenario(textOf(path), path, overridesOf(flags));
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new OperatorError(`${path} cannot be read: ${error instanceof Error ? error.message : error}`);
  }
}

export function overridesOf({
  seed,
  days: simulatedDays,
  transport,
  faults,
}: ScenarioFlags): ScenarioOverrides {
  return {
    ...(seed === undefined ? {} : { seed }),
    ...(simulatedDays === undefined ? {} : { durationMs: Math.round(simulatedDays * DAY_MS) }),
    ...(transport === undefined ? {} : { transport }),
    ...(faults === undefined ? {} : { faults }),
  };
}

/** `path` as a shell takes it for one word. */
export function quoted(path: string): string {
  return /^[\w./@:+-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}

/** The command line that runs `scenario` again, the same way. */
export function reproductionOf(
  scenario: Scenario,
  flags: Pick<ScenarioFlags, 'days'>,
  outDir?: string,
): string {
  const { path, seed, transport } = scenario;
  return [
    `headroom sim run ${quoted(path)} --seed ${seed}`,
    ...(flags.days === undefined ? [] : [`--days ${flags.days}`]),
    ...(transport === 'mqtt' ? ['--transport mqtt'] : []),
    ...(outDir === undefined ? [] : [`--out ${quoted(outDir)}`]),
  ].join(' ');
}
