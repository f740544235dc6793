// Addresses within the dashboard, such as `#/locations/{id}`; ids are percent-encoded.
import { useEffect, useState } from 'preact/hooks';

export type Route =
  | { readonly page: (typeof LISTS)[number] | 'unknown' }
  | { readonly page: 'location'; readonly locationId: string }
  | { readonly page: 'cluster'; readonly clusterId: string };

function parseRoute(hash: string): Route {
  const [page = '', id, ...rest] = hash
    .replace(/^#?\/?/, '')
    .split('/')
    .map(decoded);
  if (page === '' && id === undefined) return { page: 'locations' };
  if (rest.length > 0) return { page: 'unknown' };
  if (id === undefined) return isList(page) ? { page } : { page: 'unknown' };
  if (page === 'locations') return { page: 'location', locationId: id };
  if (page === 'clusters') return { page: 'cluster', clusterId: id };
  return { page: 'unknown' };
}

/** The address of a page, for `href`. */
export function hrefOf(page: 'locations' | 'clusters', id: string): string;
export function hrefOf(page: (typeof LISTS)[number]): string;
export function hrefOf(page: string, id?: string): string {
  return id === undefined ? `#/${page}` : `#/${page}/${encodeURIComponent(id)}`;
}

/** The route of the address bar; it follows changes. */
export function useRoute(): Route {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const update = () => setHash(location.hash);
    window.addEventListener('hashchange', update);
    return () => window.removeEventListener('hashchange', update);
  }, []);
  return parseRoute(hash);
}

const LISTS = ['locations', 'clusters', 'organization', 'alarms', 'webhooks', 'access'] as const;

function isList(page: string): page is (typeof LISTS)[number] {
  return LISTS.some((list) => list === page);
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
