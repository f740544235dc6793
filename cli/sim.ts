// `headroom sim`: runs whole days of a site on a virtual clock, replays and compares them, and repeats them for many
// seeds.
import { availableParallelism, constants } from 'node:os';
import { Command, Option } from 'commander';
import { LARGEST_SEED } from '../sim/scenario/draw.js';
import { FAULT_LEVELS } from '../sim/scenario/fault-schema.js';
import { removeWorldFolders } from '../sim/world/world-folder.js';
import { NOT_BEGUN } from './exit-codes.js';
import { printNote } from './print.js';
import { legendLines } from './sim-legend.js';
import {
  type BranchFlags,
  type CompareFlags,
  connectorName,
  csvOption,
  daysOption,
  instant,
  junitOption,
  type ReplayFlags,
  type RunFlags,
  type SeedsFlags,
  seedOption,
  transportOption,
  wholeNumber,
  workersOption,
} from './sim-options.js';

// Each command loads its implementation only when it runs, not for the help.

/** Exit code by the convention of shells: 128 plus the number of the signal that ended the process. */
const ENDED_BY_SIGNAL = 128;

function runCommand(): Command {
  return new Command('run')
    .description('run a scenario; exit 1 if an invariant or an expectation fails')
    .argument('<scenario.yaml>', 'see scenarios/ for examples')
    .addOption(seedOption())
    .addOption(daysOption())
    .addOption(transportOption())
    .addOption(workersOption())
    .option('--out <dir>', 'write report.html, trace.log and summary.json there')
    .addOption(junitOption())
    .addOption(csvOption())
    .option('--json', 'print the result as JSON for scripts')
    .addHelpText('after', () => `\n${legendLines().join('\n')}`)
    .action(
      orNotRun(async (path: string, flags: RunFlags) => (await import('./sim-run.js')).run(path, flags)),
    );
}

function replayCommand(): Command {
  return new Command('replay')
    .description(
      'show the state of a run at an instant, with the reason of every limit; for a recording, check that the service decides the same again (exit 1 if not)',
    )
    .argument('<file>', 'trace.log, the folder of a run, or a recording of serve --record')
    .option('--at <instant>', 'such as 2026-06-01T17:00:03Z (default: the end)', instant)
    .option('--connector <connector>', 'one connector alone, such as q1-a/1', connectorName)
    .option('--json', 'print the state as JSON for scripts')
    .action(
      orNotRun(async (path: string, flags: ReplayFlags) =>
        (await import('./sim-replay.js')).replay(path, flags),
      ),
    );
}

function branchCommand(): Command {
  return new Command('branch')
    .description(
      'compare two futures of a scenario from one instant: as planned, and with more calls and faults; exit 1 if an invariant fails',
    )
    .argument('<scenario.yaml>', 'the planned day')
    .argument('<branch.yaml>', 'its changes: actions and faults, as in a scenario')
    .requiredOption('--at <instant>', 'begin of the difference, such as 2026-06-01T17:00:00Z', instant)
    .addOption(seedOption())
    .addOption(daysOption())
    .addOption(transportOption())
    .addOption(workersOption())
    .option('--out <dir>', 'write compare.html there, and the files of both runs below')
    .option('--json', 'print the comparison as JSON for scripts')
    .action(
      orNotRun(async (path: string, branchPath: string, flags: BranchFlags) =>
        (await import('./sim-branch.js')).branch(path, branchPath, flags),
      ),
    );
}

function compareCommand(): Command {
  return new Command('compare')
    .description(
      'compare two runs: begin of their difference, and energy, limits and starts of each location',
    )
    .argument('<run>', 'the folder of sim run --out, or its trace.log')
    .argument('<other>', 'another')
    .option(
      '--out <file.html>',
      'write the report of the first run, with the figures of the second beside them',
    )
    .option('--json', 'print the comparison as JSON for scripts')
    .action(
      orNotRun(async (run: string, other: string, flags: CompareFlags) =>
        (await import('./sim-compare.js')).compare(run, other, flags),
      ),
    );
}

function seedsCommand(): Command {
  return new Command('seeds')
    .description('run a scenario with many seeds; exit 1 if one breaks an invariant or an expectation')
    .argument('[scenario.yaml]', 'default: scenarios/everything-at-once.yaml')
    .option('--count <n>', 'number of seeds', wholeNumber(1, 1_000_000), 200)
    .option('--from <n>', 'the first seed', wholeNumber(0, LARGEST_SEED), 1)
    .addOption(
      new Option('--faults <level>', "replaces the scenario's faults").choices(Object.keys(FAULT_LEVELS)),
    )
    .addOption(daysOption())
    .addOption(transportOption())
    .option('--jobs <n>', 'number of runs at the same time', wholeNumber(1, 64), availableParallelism())
    .addOption(junitOption())
    .addOption(csvOption())
    .option('--json', 'print the outcome as JSON for scripts')
    .action(
      orNotRun(async (path: string | undefined, flags: SeedsFlags) =>
        (await import('./sim-seeds.js')).seeds(path, flags),
      ),
    );
}

export function simCommand(): Command {
  return new Command('sim')
    .description('simulate days of a site in seconds, with the production service on a virtual clock')
    .hook('preAction', endOnInterrupt)
    .addCommand(runCommand())
    .addCommand(replayCommand())
    .addCommand(branchCommand())
    .addCommand(compareCommand())
    .addCommand(seedsCommand());
}

/** After Ctrl-C a simulation ends at once, and removes the files of its worlds. */
function endOnInterrupt(): void {
  process.once('exit', removeWorldFolders);
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => process.exit(ENDED_BY_SIGNAL + constants.signals[signal]));
}

/** An error of `action` ends the process with exit code 2, because exit code 1 means that a run took place. */
function orNotRun<Given extends readonly unknown[]>(
  action: (...given: Given) => Promise<void>,
): (...given: Given) => Promise<void> {
  return async (...given) => {
    try {
      await action(...given);
    } catch (error) {
      const { explain } = await import('./operator-error.js');
      printNote(explain(error));
      process.exit(NOT_BEGUN);
    }
  };
}
