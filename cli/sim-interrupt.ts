// Ctrl-C in the middle of a simulation: it ends at once, and nothing of its worlds stays behind.
import { constants } from 'node:os';
import { removeWorldFolders } from '../sim/world/world-folder.js';

/** What a shell expects of a process that a signal ended. */
const ENDED_BY_SIGNAL = 128;

export function endOnInterrupt(): void {
  process.once('exit', removeWorldFolders);
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => process.exit(ENDED_BY_SIGNAL + constants.signals[signal]));
}
