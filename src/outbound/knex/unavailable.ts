// Which failures say "not now" of the database itself, and which say "never" of what was asked.
import { StoreUnavailableError } from '../../ports.js';

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

// ECONNREFUSED, EAI_AGAIN and their like; Node's own begin with ERR_.
const SYSTEM_ERROR = /^E(AI_)?[A-Z]+$/;
const SQLSTATE = /^[0-9A-Z]{5}$/;
// The driver and the pool give these no code.
const LOST_CONNECTION =
  /^(Connection (terminated|ended)|timeout expired|.*connection error and is not queryable)/i;

/** Whether the database could not take or give anything at that moment: locked, full, read-only, unreachable. */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof StoreUnavailableError) return true;
  if (!(error instanceof Error)) return false;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  if (code === undefined) return error.name === 'KnexTimeoutError' || LOST_CONNECTION.test(error.message);
  if (code.startsWith('SQLITE_')) return SQLITE_UNAVAILABLE.has(code);
  if (SYSTEM_ERROR.test(code)) return true;
  return SQLSTATE.test(code) && POSTGRES_UNAVAILABLE.has(code.slice(0, 2));
}

/** The result of `work`; its failure becomes a StoreUnavailableError where the database is the reason. */
export async function orUnavailable<T>(work: () => PromiseLike<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isUnavailable(error) || error instanceof StoreUnavailableError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new StoreUnavailableError(`the database is unavailable: ${reason}`, { cause: error });
  }
}
