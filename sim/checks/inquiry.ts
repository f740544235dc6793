// REST requests of the checks to a world's service, in no virtual time and without an entry in `CallBook`.
import type { RestAnswer } from '../world/rest-client.js';

/** A REST call; `path` begins after `/v1`. */
export interface Question {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
}

/** Status 0 while no service runs. */
export type Ask = (question: Question, tenantUuid: string) => Promise<RestAnswer>;

/** Runs `work` before anything else happens in the world. */
export type Soon = (work: () => Promise<void>) => void;

/** True for a call that cancels a profile. */
export function isCancellation({ method, path }: Question): boolean {
  return method === 'DELETE' && /\/schedules\/\d+$/.test(path);
}
