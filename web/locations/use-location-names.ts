// Reads the names of the tenant's locations, for pages that have only their ids.
import { useMemo } from 'preact/hooks';
import { useResource } from '../api/resource.js';
import { readLocations } from './use-locations.js';

/** The name of a location by its id; the id itself as long as the name is unknown. */
export type LocationNames = (locationId: string) => string;

/** Read once, because names rarely change. */
export function useLocationNames(): LocationNames {
  const { value } = useResource(readLocations, []);
  return useMemo(() => {
    const names = new Map(value?.map(({ locationId, name }) => [locationId, name]));
    return (locationId) => names.get(locationId) ?? locationId;
  }, [value]);
}
