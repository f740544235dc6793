// One Host header, no more and no less: where a proxy and the service read different ones, they see different requests.
import type { RequestHandler } from 'express';
import { DomainError } from '../../../machines/values/errors.js';

/** Middleware: HTTP/1.1 requires Host, and no version allows it twice (RFC 9112 section 3.2). */
export const requireHost: RequestHandler = (request, response, next) => {
  const count = hostsOf(request.rawHeaders);
  if (count === 1 || (count === 0 && request.httpVersion === '1.0')) {
    next();
    return;
  }
  response.shouldKeepAlive = false;
  const message = count === 0 ? 'Host: required in HTTP/1.1' : 'Host: sent more than once; send it once';
  throw new DomainError('INVALID_REQUEST_BODY', message);
};

function hostsOf(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i];
    if (name?.length === 4 && name.toLowerCase() === 'host') count++;
  }
  return count;
}
