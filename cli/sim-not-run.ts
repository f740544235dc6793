// How a mistake ends the simulator's commands: not as a run ends in which something failed.
import { NOT_BEGUN } from './exit-codes.js';
import { printNote } from './print.js';

/** `action`, of which any error is told and ends the process: 1 would say that there was a run. */
export function orNotRun<Given extends readonly unknown[]>(
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
