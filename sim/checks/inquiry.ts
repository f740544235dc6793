// How checks ask a world's service: over REST, in no virtual time, and without an entry in the book of calls.
import type { RestAnswer } from '../world/rest-client.js';

/** A call of the interface; `path` begins after `/v1`. */
export interface Question {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
}

/** Status 0 while no service lives. */
export type Ask = (question: Question, tenantUuid: string) => Promise<RestAnswer>;

/** Does it before anything else happens in the world. */
export type Soon = (work: () => Promise<void>) => void;

/** Whether the call takes a profile back. */
export function isCancellation({ method, path }: Question): boolean {
  return method === 'DELETE' && /\/schedules\/\d+$/.test(path);
}
