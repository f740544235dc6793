// The target of a request, made readable: Express answers one it cannot parse or decode in its own way, not in ours.

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
