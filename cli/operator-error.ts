// Error output in the terminal: one readable line for a mistake of the operator, a stack only for a defect of Headroom.
import { HeadroomError } from '../client/headroom.js';
import { OperatorError } from '../src/ports/operator-error.js';
import { DatabaseLostError, StoreUnavailableError } from '../src/ports/store.js';
import { withoutSecrets } from '../src/secrets.js';
import { FAILED, NOT_BEGUN } from './exit-codes.js';

/** The request is valid but cannot succeed now; the message states the reason and the remedy. */
export class FailedError extends Error {}

/** Upper bound, because the message of an error may quote data from outside. */
const DEFECT_LENGTH = 4_000;

const TOLD = [OperatorError, FailedError, HeadroomError, DatabaseLostError, StoreUnavailableError];

/**
 * The text to print for `error`. Errors of the system (no such file, no permission) count as solvable by the operator.
 */
export function explain(error: unknown): string {
  if (!(error instanceof Error)) return `headroom: ${String(error)}`;
  const isTold = TOLD.some((kind) => error instanceof kind) || 'syscall' in error;
  if (!isTold)
    return `headroom: this is a defect: ${withoutSecrets(error.stack ?? error.message).slice(0, DEFECT_LENGTH)}`;
  return error instanceof OperatorError && error.beginsWithFile
    ? error.message
    : `headroom: ${error.message}`;
}

export function exitCodeOf(error: unknown): number {
  return error instanceof OperatorError ? NOT_BEGUN : FAILED;
}
