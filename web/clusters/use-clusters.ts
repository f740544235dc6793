// The clusters of the tenant, each with what its members draw together now.
import { useMemo } from 'preact/hooks';
import type { LocationSummary } from '../../src/wire/operator-locations.js';
import type { Cluster, ClusterList } from '../../src/wire/rest.js';
import type { ApiError } from '../api/api-error.js';
import { useResource } from '../api/resource.js';
import { useEvery } from '../location/server-clock.js';
import { useLocations } from '../locations/use-locations.js';
import { sumOfEstimates } from '../ui/drawn.js';

export interface ListedCluster extends Cluster {
  readonly actualTotalKw: number;
  /** How much of it is an estimate; null where all was measured. */
  readonly estimatedTotalKw: number | null;
}

export interface Clusters {
  /** The newest first. */
  readonly clusters: readonly ListedCluster[] | undefined;
  readonly locations: readonly LocationSummary[] | undefined;
  readonly error: ApiError | undefined;
  reread(): void;
}

/** No event tells what others change about clusters. */
const EVERY_MS = 30_000;

export function useClusters(): Clusters {
  const { value: locations, error: locationsError } = useLocations();
  const { value, error, reread } = useResource(
    (client, signal) => client.get<ClusterList>('/clusters', signal),
    [],
  );
  useEvery(EVERY_MS, () => reread());
  const clusters = useMemo(() => {
    if (value === undefined || locations === undefined) return undefined;
    const byId = new Map(locations.map((location) => [location.locationId, location]));
    return value.clusters.map((cluster) => {
      const members = cluster.locationIds.map((id) => byId.get(id));
      return {
        ...cluster,
        actualTotalKw: members.reduce((sum, member) => sum + (member?.actualKw ?? 0), 0),
        estimatedTotalKw: sumOfEstimates(members.map((member) => member?.estimatedKw)),
      };
    });
  }, [value, locations]);
  return { clusters, locations, error: error ?? locationsError, reread: () => reread() };
}
