// Checks that the head of a request has one reading only, and makes its target readable for Express.
import type { ServerResponse } from 'node:http';
import { DomainError } from '../../../machines/values/errors.js';

/**
 * Refuses a head that a proxy and the service could read in two ways, as two different requests. That is a head
 * without one Host (RFC 9112 section 3.2), or with a Transfer-Encoding other than one `chunked` (section 6.1).
 * Node's parser refuses a Content-Length beside it.
 * @throws DomainError INVALID_REQUEST_BODY, and ends the connection with the answer
 */
export function requireOneReading(
  request: { readonly rawHeaders: readonly string[]; readonly httpVersion: string },
  response: ServerResponse,
): void {
  const problem = problemOf(request);
  if (problem === undefined) return;
  response.shouldKeepAlive = false;
  throw new DomainError('INVALID_REQUEST_BODY', problem);
}

function problemOf({
  rawHeaders,
  httpVersion,
}: {
  readonly rawHeaders: readonly string[];
  readonly httpVersion: string;
}): string | undefined {
  const hosts = valuesOf(rawHeaders, 'host');
  if (hosts.length === 0 && httpVersion !== '1.0') return 'Host: required in HTTP/1.1';
  if (hosts.length > 1) return 'Host: sent more than once; send it once';
  const encodings = valuesOf(rawHeaders, 'transfer-encoding');
  if (encodings.length > 1) return 'Transfer-Encoding: sent more than once; send it once';
  const [encoding = 'chunked'] = encodings;
  return encoding.toLowerCase() === 'chunked' ? undefined : 'Transfer-Encoding: must be chunked';
}

/** Values of all headers of this name, which is in lower case. */
function valuesOf(rawHeaders: readonly string[], name: string): readonly string[] {
  const values: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (rawHeaders[i]?.length === name.length && rawHeaders[i]?.toLowerCase() === name)
      values.push(rawHeaders[i + 1] ?? '');
  return values;
}

/**
 * `target` as a path and query that can be parsed and decoded. In a path with broken percent-encoding every `%` stands
 * for itself. A target that is no URL becomes a path. Neither names anything that exists.
 */
export function readableTarget(target: string): string {
  const url = target.startsWith('/') ? target : pathOf(target);
  if (!url.includes('%')) return url;
  const query = url.indexOf('?');
  const path = query === -1 ? url : url.slice(0, query);
  return isDecodable(path) ? url : path.replaceAll('%', '%25') + url.slice(path.length);
}

/** The result is used, because a bundler may drop a call whose only effect is its exception. */
function isDecodable(path: string): boolean {
  try {
    return decodeURIComponent(path).length > 0;
  } catch {
    return false;
  }
}

/** A proxy may send a whole URL (RFC 9112 section 3.2.2). */
function pathOf(target: string): string {
  if (!URL.canParse(target)) return `/${target}`;
  const { pathname, search } = new URL(target);
  return pathname + search;
}
