// Reads one cluster; events about its members keep it up to date.
import type { ClusterDetail } from '../../src/wire/rest.js';
import { path } from '../api/client.js';
import { type Resource, useResource } from '../api/resource.js';
import { useEvents } from '../api/use-events.js';
import { useEvery } from '../location/server-clock.js';
import { changed, type MemberChange } from './cluster-live.js';

/** The stream has no events about changes of a cluster by others. */
const EVERY_MS = 30_000;

export function useCluster(clusterId: string): Resource<ClusterDetail> {
  const resource = useResource(
    (client, signal) => client.get<ClusterDetail>(path`/clusters/${clusterId}`, signal),
    [clusterId],
  );
  const { update, reread } = resource;
  const change = (changes: ReadonlyMap<string, MemberChange>) => update((detail) => changed(detail, changes));
  useEvents('power', (events) =>
    change(
      new Map(
        events.map(({ locationId, actualKw, estimatedKw }) => [
          locationId,
          { actualKw, estimatedKw: estimatedKw ?? undefined },
        ]),
      ),
    ),
  );
  useEvents('effectiveLimit', (events) =>
    change(
      new Map(
        events.map(({ locationId, effectiveLimitKw }) => [locationId, { setLimitKw: effectiveLimitKw }]),
      ),
    ),
  );
  useEvery(EVERY_MS, () => reread());
  return resource;
}
