// A rejection with HTTP headers: how to sign in, when to retry, which methods are allowed.
import { DomainError, type ErrorCode } from '../../../machines/values/errors.js';

export type Headers = Readonly<Record<string, string>>;
export const NO_HEADERS: Headers = {};

export class Refusal extends DomainError {
  readonly headers: Headers;

  constructor(code: ErrorCode, message: string, headers: Headers) {
    super(code, message);
    this.headers = headers;
  }
}

/** This node does not run the target of the request: the forwarding node looks for the holder again. */
export const STANDS_BY: Headers = { 'x-headroom-role': 'standby' };

const VACANT_FOR_MS = 1_000;

/** No known node runs the target of the request. */
export function vacant(): Refusal {
  return new Refusal('SERVICE_UNAVAILABLE', 'No node is active at the moment: try again shortly.', {
    ...retryAfter(VACANT_FOR_MS),
    ...STANDS_BY,
  });
}

/** `Retry-After` in whole seconds, at least one. */
export function retryAfter(waitMs: number): Headers {
  return { 'retry-after': String(Math.max(1, Math.ceil(waitMs / 1000))) };
}
