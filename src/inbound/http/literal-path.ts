// A path whose percent-encoding is broken still names something, though nothing that exists: it is taken as it stands.

/** `url` such that its path can be decoded: where it cannot, every `%` of the path stands for itself. */
export function literalPath(url: string): string {
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
