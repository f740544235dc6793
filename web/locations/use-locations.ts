// Reads the locations of the tenant; the stream keeps them up to date.
import { useEffect } from 'preact/hooks';
import type { LocationList, LocationSummary } from '../../src/features/locations/contract.js';
import { type ApiClient, path } from '../api/client.js';
import { type Resource, useResource } from '../api/resource.js';
import { useEvents } from '../api/use-events.js';

/** Fields of a location that an event changes, by its id. */
type Patch = Partial<Pick<LocationSummary, 'actualKw' | 'estimatedKw' | 'gridLimitKw' | 'effectiveLimitKw'>>;

/** No event carries the counts; they are read again soon after an event that may have changed them. */
const COUNTS_WITHIN_MS = 1_500;
/** The stream has no event about a new location; the list is read again at this interval. */
const ALL_EVERY_MS = 60_000;

export function useLocations(): Resource<readonly LocationSummary[]> {
  const resource = useResource(readLocations, []);
  const { update, reread } = resource;
  const patch = (patches: ReadonlyMap<string, Patch>) => update((locations) => patched(locations, patches));
  useEvents('power', (events) =>
    patch(
      new Map(events.map(({ locationId, actualKw, estimatedKw }) => [locationId, { actualKw, estimatedKw }])),
    ),
  );
  useEvents('gridLimit', (events) =>
    patch(new Map(events.map(({ locationId, gridLimitKw }) => [locationId, { gridLimitKw }]))),
  );
  useEvents('effectiveLimit', (events) =>
    patch(new Map(events.map(({ locationId, effectiveLimitKw }) => [locationId, { effectiveLimitKw }]))),
  );
  useEvents('lock', () => reread(COUNTS_WITHIN_MS));
  useEvents('alarm', () => reread(COUNTS_WITHIN_MS));
  useEffect(() => {
    const timer = setInterval(reread, ALL_EVERY_MS);
    return () => clearInterval(timer);
  }, [reread]);
  return resource;
}

/** All locations of the tenant, over any number of pages. */
export async function readLocations(
  client: ApiClient,
  signal: AbortSignal,
): Promise<readonly LocationSummary[]> {
  const locations: LocationSummary[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: LocationList = await client.get(path`/locations?cursor=${cursor}`, signal);
    locations.push(...page.locations);
    cursor = page.nextCursor;
  }
  return locations;
}

function patched(
  locations: readonly LocationSummary[],
  patches: ReadonlyMap<string, Patch>,
): readonly LocationSummary[] {
  return locations.map((location) => {
    const patch = patches.get(location.locationId);
    return patch === undefined ? location : { ...location, ...patch };
  });
}
