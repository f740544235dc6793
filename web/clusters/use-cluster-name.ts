// Reads the name of a cluster, for sentences that would otherwise show its id.
import type { Cluster } from '../../src/features/clusters/contract.js';
import { path } from '../api/client.js';
import { useResource } from '../api/resource.js';

/** The cluster's name. Before it is read, or if the viewer may not read clusters, its id. */
export function useClusterName(clusterId: string | undefined): string {
  const { value } = useResource(
    async (client, signal) =>
      clusterId === undefined ? undefined : client.get<Cluster>(path`/clusters/${clusterId}`, signal),
    [clusterId],
  );
  return value?.clusterId === clusterId ? (value?.name ?? '') : (clusterId ?? '');
}
