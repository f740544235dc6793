// What is told to the person at the terminal: one readable line for a mistake, a stack only for a defect of ours.
import { ConfigError } from '../src/config.js';
import { KeptFileError } from '../src/gateway/kept-file.js';
import { TokenKeysError } from '../src/inbound/http/token-keys.js';
import { AdministrationError } from '../src/ports/administration.js';
import { DatabaseLostError, StoreUnavailableError } from '../src/ports/store.js';
import { UnusableFileError } from '../src/provisioning/parse-yaml.js';
import { TlsFileError } from '../src/tls-files.js';
import { FAILED, NOT_BEGUN } from './exit-codes.js';

/** A mistake in what was asked for; its message names it and the way out. */
export class OperatorError extends Error {}

/** What was asked for is right and cannot be done here and now; its message says why and the way out. */
export class FailedError extends Error {}

const MISTAKES = [
  OperatorError,
  ConfigError,
  AdministrationError,
  UnusableFileError,
  TlsFileError,
  TokenKeysError,
  KeptFileError,
];
const TOLD = [...MISTAKES, FailedError, DatabaseLostError, StoreUnavailableError];

/** What to print for `error`. A failure of the system (no such file, no permission) is the operator's to solve too. */
export function explain(error: unknown): string {
  if (!(error instanceof Error)) return `headroom: ${String(error)}`;
  const isTold = TOLD.some((kind) => error instanceof kind) || 'syscall' in error;
  if (!isTold) return `headroom: this is a defect: ${error.stack ?? error.message}`;
  // The problems of a file begin with its name, where editors look for it.
  return error instanceof UnusableFileError ? error.message : `headroom: ${error.message}`;
}

/** The exit code of a command that ended with `error`. */
export function exitCodeOf(error: unknown): number {
  return MISTAKES.some((kind) => error instanceof kind) ? NOT_BEGUN : FAILED;
}
