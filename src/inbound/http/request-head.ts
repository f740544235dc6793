// The head of a request: one that can be read in one way only, with a target that Express can read.
import type { ServerResponse } from 'node:http';
import { DomainError } from '../../../machines/values/errors.js';

/**
 * Refuses a head that a proxy and the service could read in two ways, so that they would see different requests: without one
 * Host (RFC 9112 section 3.2), or with a Transfer-Encoding that is anything but one `chunked` (section 6.1). A Content-Length beside
 * it is refused by Node's parser.
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

/** Of each header of this name, which is in lower case. */
function valuesOf(rawHeaders: readonly string[], name: string): readonly string[] {
  const values: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (rawHeaders[i]?.length === name.length && rawHeaders[i]?.toLowerCase() === name)
      values.push(rawHeaders[i + 1] ?? '');
  return values;
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
