// `headroom sim seeds`: one scenario with many seeds, to find a seed with a failure.

import { fileURLToPath } from 'node:url';
import { SingleBar } from 'cli-progress';
import { counted } from '../machines/values/counted.js';
import { runSeeds, type SeedOutcome } from '../sim/run/seed-pool.js';
import { LARGEST_SEED } from '../sim/scenario/draw.js';
import { sessionsOf } from '../sim/sessions/sessions-of.js';
import { systemClock } from '../src/clock.js';
import { OperatorError } from '../src/ports/operator-error.js';
import { printJson, printLine, printNote } from './print.js';
import { overridesOf, quoted, readScenario } from './sim-flags.js';
import { claimJunit, writeSeedsJunit } from './sim-junit.js';
import type { SeedsFlags } from './sim-options.js';
import { claimTables, writeTables } from './sim-tables.js';

const DEFAULT_SCENARIO = fileURLToPath(new URL('../../scenarios/everything-at-once.yaml', import.meta.url));
const SHOWN = 10;

function againOf(path: string, { days, transport, faults }: SeedsFlags, seed: number): string {
  return [
    `headroom sim seeds ${quoted(path)} --from ${seed} --count 1`,
    ...(faults === undefined ? [] : [`--faults ${faults}`]),
    ...(days === undefined ? [] : [`--days ${days}`]),
    ...(transport === undefined ? [] : [`--transport ${transport}`]),
  ].join(' ');
}

export async function seeds(path = DEFAULT_SCENARIO, flags: SeedsFlags): Promise<void> {
  // Problems of the file or its sessions are reported once, before the first run.
  sessionsOf(readScenario(path, flags), flags.from);
  const last = flags.from + flags.count - 1;
  if (last > LARGEST_SEED)
    throw new OperatorError(`--from and --count lead to seed ${last}; the largest is ${LARGEST_SEED}`);
  claimJunit(flags.junit);
  claimTables(flags.csv);
  const seeds = Array.from({ length: flags.count }, (_, i) => flags.from + i);
  const bar = process.stderr.isTTY && !flags.json ? createBar() : undefined;
  bar?.start(seeds.length, 0, { bad: 0 });
  const beganAtMs = systemClock.monotonicMs();
  const outcomes: SeedOutcome[] = [];
  await runSeeds({
    path,
    seeds,
    jobs: flags.jobs,
    overrides: overridesOf(flags),
    isTabled: flags.csv !== undefined,
    onOutcome(outcome) {
      outcomes.push(outcome);
      bar?.update(outcomes.length, { bad: outcomes.filter(isBad).length });
    },
  });
  bar?.stop();
  const elapsedMs = systemClock.monotonicMs() - beganAtMs;
  if (flags.junit !== undefined)
    writeSeedsJunit(flags.junit, path, outcomes, elapsedMs, (seed) => againOf(path, flags, seed));
  outcomes.sort((a, b) => a.seed - b.seed);
  if (flags.csv !== undefined)
    writeTables(
      flags.csv,
      outcomes.map(({ seed, locations = [] }) => ({ seed, locations })),
    );
  const bad = outcomes.filter(isBad).map(({ locations: _, ...outcome }) => outcome);
  if (flags.json) printJson({ seeds: outcomes.length, bad, elapsedMs });
  else {
    const simulatedH = outcomes.reduce((sum, { simulatedMs }) => sum + simulatedMs, 0) / 3_600_000;
    printLine(
      `${counted(outcomes.length, 'seed')}, ${simulatedH.toFixed(0)} h simulated in ${(elapsedMs / 1000).toFixed(1)} s: ${bad.length} with violations or unmet expectations`,
    );
    for (const { seed, first } of bad.slice(0, SHOWN)) {
      printNote(`seed ${seed}: ${first}`);
      printNote(`  again: ${againOf(path, flags, seed)}`);
    }
  }
  if (bad.length > 0) process.exitCode = 1;
}

function isBad({ first }: Pick<SeedOutcome, 'first'>): boolean {
  return first !== undefined;
}

function createBar(): SingleBar {
  const format = '{bar} {value} of {total} seeds  {bad} bad';
  return new SingleBar({ format, hideCursor: true, clearOnComplete: true, stream: process.stderr });
}
