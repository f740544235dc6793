// How a mistake ends the simulator's commands: not as a run ends in which something failed.
import type { Command } from 'commander';
import { explain } from './operator-error.js';
import { printNote } from './print.js';

/** 1 says that something in a run failed; that there was none is another thing to a script. */
const NOT_RUN = 2;

/** `action`, of which an error is told and ends the process with 2. */
export function orNotRun<Given extends readonly unknown[]>(
  action: (...given: Given) => Promise<void>,
): (...given: Given) => Promise<void> {
  return async (...given) => {
    try {
      await action(...given);
    } catch (error) {
      printNote(explain(error));
      process.exit(NOT_RUN);
    }
  };
}

/** What is wrong with the words on the command line ends the process with 2, too. */
export function refuseWithNotRun(command: Command): Command {
  return command.exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : NOT_RUN));
}
