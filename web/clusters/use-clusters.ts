// Reads the clusters of the tenant, each with the current total power of its members.
import { useMemo } from 'preact/hooks';
import type { Cluster, ClusterList } from '../../src/features/clusters/contract.js';
import type { LocationSummary } from '../../src/features/locations/contract.js';
import type { ApiError } from '../api/api-error.js';
import { useResource } from '../api/resource.js';
import { useEvery } from '../location/server-clock.js';
import { useLocations } from '../locations/use-locations.js';
import { sumOfEstimates } from '../ui/drawn.js';

export interface ListedCluster extends Cluster {
  readonly actualTotalKw: number;
  /** Estimated part of the total; null if all of it was measured. */
  readonly estimatedTotalKw: number | null;
}

export interface Clusters {
  /** Newest first. */
  readonly clusters: readonly ListedCluster[] | undefined;
  readonly locations: readonly LocationSummary[] | undefined;
  readonly error: ApiError | undefined;
  reread(): void;
}

/** The stream has no events about changes of clusters by others. */
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
