// What a request begins with: one Host, and a target that Express can read; what is neither it would answer in its own way.
import type { ServerResponse } from 'node:http';
import { DomainError } from '../../../machines/values/errors.js';

/**
 * HTTP/1.1 requires Host, and no version allows it twice (RFC 9112 section 3.2): where a proxy and the service read different
 * ones, they see different requests.
 * @throws DomainError INVALID_REQUEST_BODY, and ends the connection with the answer
 */
export function requireHost(
  request: { readonly rawHeaders: readonly string[]; readonly httpVersion: string },
  response: ServerResponse,
): void {
  const count = hostsOf(request.rawHeaders);
  if (count === 1 || (count === 0 && request.httpVersion === '1.0')) return;
  response.shouldKeepAlive = false;
  const message = count === 0 ? 'Host: required in HTTP/1.1' : 'Host: sent more than once; send it once';
  throw new DomainError('INVALID_REQUEST_BODY', message);
}

function hostsOf(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i];
    if (name?.length === 4 && name.toLowerCase() === 'host') count++;
  }
  return count;
}

/**
 * `target` as a path and query that can be parsed and decoded. Where its percent-encoding is broken, every `%` of the
 * path stands for itself; what is no URL becomes a path. Either way it names nothing that exists.
 */
export function readableTarget(target: string): string {
  const url = target.startsWith('/') ? target : pathOf(target);
  if (!url.includes('%')) return url;
  const query = url.indexOf('?');
  const path = query === -1 ? url : url.slice(0, query);
  try {
    decodeURIComponent(path);
    return url;
  } catch {
    return path.replaceAll('%', '%25') + url.slice(path.length);
  }
}

/** A proxy may send a whole URL (RFC 9112 section 3.2.2). */
function pathOf(target: string): string {
  if (!URL.canParse(target)) return `/${target}`;
  const { pathname, search } = new URL(target);
  return pathname + search;
}
