// Reads the scenario of a simulator command, and builds the command line that repeats the run.
import { readFileSync } from 'node:fs';
import { parseScenario, type ScenarioOverrides } from '../sim/scenario/parse-scenario.js';
import type { Scenario } from '../sim/scenario/scenario.js';
import { OperatorError } from '../src/ports/operator-error.js';
import type { ScenarioFlags } from './sim-options.js';

const DAY_MS = 86_400_000;

/** @throws OperatorError if the file cannot be read. @throws UnusableFileError with all its problems. */
export function readScenario(path: string, flags: ScenarioFlags): Scenario {
  return parseScenario(textOf(path), path, overridesOf(flags));
}

export function textOf(path: string): string {
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

/** `path`, quoted for a shell if necessary. */
export function quoted(path: string): string {
  return /^[\w./@:+-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}

/** The command line that repeats the run of `scenario`. */
export function reproductionOf(
  scenario: Scenario,
  flags: Pick<ScenarioFlags, 'days'>,
  outDir?: string,
): string {
  const { path, seed, transport } = scenario;
  return [
    `headroom sim run ${quoted(path)} --seed ${seed}`,
    ...(flags.days === undefined ? [] : [`--days ${flags.days}`]),
    ...(transport === 'inProcess' ? [] : [`--transport ${transport}`]),
    ...(outDir === undefined ? [] : [`--out ${quoted(outDir)}`]),
  ].join(' ');
}
