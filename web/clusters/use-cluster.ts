// One cluster, kept up to date by what the stream says of its members.
import type { ClusterDetail } from '../../src/wire/rest.js';
import { path } from '../api/client.js';
import { type Resource, useResource } from '../api/resource.js';
import { useEvents } from '../api/use-events.js';
import { useEvery } from '../location/server-clock.js';
import { changed, type MemberChange } from './cluster-live.js';

/** No event tells what others change about a cluster. */
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
