// Separates failures of the database, after which a retry helps, from failures that the request itself caused.
import { StoreUnavailableError } from '../../ports/store.js';

const SQLITE_UNAVAILABLE = new Set([
  'SQLITE_BUSY',
  'SQLITE_LOCKED',
  'SQLITE_FULL',
  'SQLITE_IOERR',
  'SQLITE_READONLY',
  'SQLITE_CANTOPEN',
  'SQLITE_PROTOCOL',
  'SQLITE_NOMEM',
  'SQLITE_CORRUPT',
  'SQLITE_NOTADB',
]);

// Classes of SQLSTATE: connection, read-only, authorization, no such database, rollback forced by others, resources,
// lock not available, operator intervention, system error, internal error.
const POSTGRES_UNAVAILABLE = new Set(['08', '25', '28', '3D', '40', '53', '55', '57', '58', 'XX']);

// ECONNREFUSED, EAI_AGAIN and similar codes; Node's own begin with ERR_.
const SYSTEM_ERROR = /^E(AI_)?[A-Z]+$/;
const SQLSTATE = /^[0-9A-Z]{5}$/;
// The driver gives these no code, and knex puts the statement in front.
const NEVER_SENT = /is not queryable$/;
const LOST_CONNECTION = /(Connection terminated( unexpectedly| due to connection timeout)?|timeout expired)$/;

// Another transaction was faster: nothing of this one is kept, and a second run may succeed.
const SERIALIZATION_FAILURE = '40001';
const DEADLOCK = '40P01';

// A commit that fails with one of these has written nothing.
const COMMITS_REFUSED = new Set(['SQLITE_BUSY', 'SQLITE_FULL', SERIALIZATION_FAILURE, DEADLOCK]);

/** The database was unable to read or write at that moment: locked, full, read-only, unreachable. */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof StoreUnavailableError) return true;
  if (!(error instanceof Error)) return false;
  const code = codeOf(error);
  if (code === undefined) {
    return (
      [LOST_CONNECTION, NEVER_SENT].some((told) => told.test(error.message)) ||
      error.name === 'KnexTimeoutError'
    );
  }
  if (code.startsWith('SQLITE_')) return SQLITE_UNAVAILABLE.has(code);
  if (SYSTEM_ERROR.test(code)) return true;
  return SQLSTATE.test(code) && POSTGRES_UNAVAILABLE.has(code.slice(0, 2));
}

/** The transaction was undone because another process changed the same rows at the same time. */
export function isConflict(error: unknown): boolean {
  const code = codeOf(error);
  return code === SERIALIZATION_FAILURE || code === DEADLOCK;
}

/** A commit that failed so may be on disk all the same: the connection or the disk broke during it. */
export function mayHaveCommitted(error: unknown): boolean {
  const code = codeOf(error);
  if (code !== undefined) return !COMMITS_REFUSED.has(code);
  return !(error instanceof Error && NEVER_SENT.test(error.message));
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** The result of `work`. A failure that the database caused becomes a StoreUnavailableError. */
export async function orUnavailable<T>(work: () => PromiseLike<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw asUnavailable(error);
  }
}

/** Wraps an error that the database caused in a StoreUnavailableError; other errors stay as they are. */
export function asUnavailable(error: unknown): unknown {
  if (!isUnavailable(error) || error instanceof StoreUnavailableError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  return new StoreUnavailableError(`the database is unavailable: ${reason}`, { cause: error });
}
