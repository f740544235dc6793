// A rejection that also says something in HTTP headers: how to sign in, when to come back, what is allowed.
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

/** `Retry-After` in whole seconds, at least one. */
export function retryAfter(waitMs: number): Headers {
  return { 'retry-after': String(Math.max(1, Math.ceil(waitMs / 1000))) };
}
