// What a cluster is called, for sentences that would otherwise tell people its id.
import type { Cluster } from '../../src/wire/rest.js';
import { path } from '../api/client.js';
import { useResource } from '../api/resource.js';

/** The cluster's name; its id until it was read, and where the viewer may not read clusters. */
export function useClusterName(clusterId: string | undefined): string {
  const { value } = useResource(
    async (client, signal) =>
      clusterId === undefined ? undefined : client.get<Cluster>(path`/clusters/${clusterId}`, signal),
    [clusterId],
  );
  return value?.clusterId === clusterId ? (value?.name ?? '') : (clusterId ?? '');
}
