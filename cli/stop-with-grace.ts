// Ends commands that run until a signal: once, in time, and with the right exit code.
import closeWithGrace from 'close-with-grace';
import { explain } from './operator-error.js';
import { printNote } from './print.js';
import { goOnWithoutOutput } from './run-command.js';

/** Less than the 10 s within which a stop must end. */
const STOP_WITHIN_MS = 9_000;

/**
 * Signals of a fault in native code. A handler would return to the failed instruction, which fails again forever.
 * Without a handler the system ends the process, and its supervisor restarts it.
 */
const FAULTS = ['SIGILL', 'SIGTRAP', 'SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGSEGV'] as const;

/**
 * Calls `stop` once, on a signal or a defect, and ends the process: code 0 after a signal, 1 otherwise. A failed write
 * of output does not end it.
 * @param stop receives the name of the signal, or the message of the defect
 */
export function stopWithGrace(stop: (why: string) => Promise<void>): { uninstall(): void } {
  goOnWithoutOutput();
  const onTimeout = () =>
    printNote(`headroom: the stop took more than ${STOP_WITHIN_MS / 1000} s and was cut short`);
  return closeWithGrace(
    { delay: STOP_WITHIN_MS, logger: false, onTimeout, skip: [...FAULTS] },
    async ({ err, signal = 'asked to' }) => {
      if (err !== undefined) printNote(explain(err));
      try {
        await stop(err === undefined ? signal : String(err));
      } catch (error) {
        printNote(explain(error));
        throw error;
      }
    },
  );
}
