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

/** Refusals of a service with the way out at the command line, by code. */
const BY_FLAG: Readonly<Record<string, string>> = {
  UNAUTHORIZED:
    'the service does not accept the API key: it is unknown, expired or revoked; set HEADROOM_KEY or --key.',
  REQUEST_IN_PROGRESS:
    '--idempotency-key: the first request with this key has no answer yet; repeat the command in some seconds.',
  IDEMPOTENCY_KEY_REUSED:
    '--idempotency-key: another request had this key; give a new key, or repeat the first command unchanged.',
  PRECONDITION_FAILED:
    '--if-match: the cluster has changed since this ETag; read it with "headroom cluster CLUSTER", and give its new ETag.',
};

/** The flag of a header or field that a refusal names. */
const FLAGS: Readonly<Record<string, string>> = {
  'Idempotency-Key': '--idempotency-key',
  'If-Match': '--if-match',
  startTime: '--from',
  endTime: '--to',
  from: '--from',
  to: '--to',
  after: '--after',
  locationIds: '--location',
  name: '--create',
  type: '--type',
};

function textOf({ code, message }: HeadroomError): string {
  const named = message.replace(/(?<=^|; )([\w-]+)(?=: )/g, (name) => FLAGS[name] ?? name);
  return BY_FLAG[code] ?? named.replaceAll(' (query parameter)', '');
}

/**
 * The text to print for `error`. Errors of the system (no such file, no permission) count as solvable by the operator.
 */
export function explain(error: unknown): string {
  if (!(error instanceof Error)) return `headroom: ${String(error)}`;
  const isTold = TOLD.some((kind) => error instanceof kind) || 'syscall' in error;
  if (!isTold)
    return `headroom: this is a defect: ${withoutSecrets(error.stack ?? error.message).slice(0, DEFECT_LENGTH)}`;
  if (error instanceof OperatorError && error.beginsWithFile) return error.message;
  return `headroom: ${error instanceof HeadroomError ? textOf(error) : error.message}`;
}

export function exitCodeOf(error: unknown): number {
  return error instanceof OperatorError ? NOT_BEGUN : FAILED;
}
