// What is told to the person at the terminal: one readable line for a mistake, a stack only for a defect of ours.
import { OperatorError } from '../src/ports/operator-error.js';
import { DatabaseLostError, StoreUnavailableError } from '../src/ports/store.js';
import { withoutSecrets } from '../src/secrets.js';
import { FAILED, NOT_BEGUN } from './exit-codes.js';

/** What was asked for is right and cannot be done here and now; its message says why and the way out. */
export class FailedError extends Error {}

/** The message of an error may quote what somebody sent. */
const DEFECT_LENGTH = 4_000;

const TOLD = [OperatorError, FailedError, DatabaseLostError, StoreUnavailableError];

/** What to print for `error`. A failure of the system (no such file, no permission) is the operator's to solve too. */
export function explain(error: unknown): string {
  if (!(error instanceof Error)) return `headroom: ${String(error)}`;
  const isTold = TOLD.some((kind) => error instanceof kind) || 'syscall' in error;
  if (!isTold)
    return `headroom: this is a defect: ${withoutSecrets(error.stack ?? error.message).slice(0, DEFECT_LENGTH)}`;
  return error instanceof OperatorError && error.beginsWithFile
    ? error.message
    : `headroom: ${error.message}`;
}

/** The exit code of a command that ended with `error`. */
export function exitCodeOf(error: unknown): number {
  return error instanceof OperatorError ? NOT_BEGUN : FAILED;
}
