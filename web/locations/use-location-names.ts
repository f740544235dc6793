// The names of the tenant's locations, for pages that know them by id.
import { useMemo } from 'preact/hooks';
import { useResource } from '../api/resource.js';
import { readLocations } from './use-locations.js';

/** The name of a location by its id; the id where it is not known (yet). */
export type LocationNames = (locationId: string) => string;

/** Read once, as names rarely change. */
export function useLocationNames(): LocationNames {
  const { value } = useResource(readLocations, []);
  return useMemo(() => {
    const names = new Map(value?.map(({ locationId, name }) => [locationId, name]));
    return (locationId) => names.get(locationId) ?? locationId;
  }, [value]);
}
