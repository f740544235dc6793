// Page of one cluster: the power of its members against the cap, their shares, and actions.
import '../location/location.css';
import './clusters.css';
import { useStreamClock } from '../location/server-clock.js';
import { useLocationNames } from '../locations/use-location-names.js';
import { hrefOf } from '../route.js';
import { useTitle } from '../shell/title.js';
import { ErrorNotice } from '../ui/notice.js';
import { Time } from '../ui/time.js';
import { ClusterActions } from './cluster-actions.js';
import { StatusBadge } from './cluster-badges.js';
import { ClusterHead } from './cluster-head.js';
import { MemberTable } from './member-table.js';
import { useCluster } from './use-cluster.js';

export function ClusterPage({ clusterId }: { readonly clusterId: string }) {
  const { value, error, reread } = useCluster(clusterId);
  const names = useLocationNames();
  const clock = useStreamClock();
  // The cluster was deleted meanwhile, so its last state is not shown.
  const cluster = error?.code === 'CLUSTER_NOT_FOUND' ? undefined : value;
  useTitle(cluster?.name ?? 'Cluster');
  return (
    <div class="stack location cluster">
      <div>
        <a class="small" href={hrefOf('clusters')}>
          All clusters
        </a>
        <h1>
          {cluster?.name ?? 'Cluster'} {cluster !== undefined && <StatusBadge status={cluster.status} />}
        </h1>
        <p class="quiet small">{clusterId}</p>
      </div>
      {error !== undefined && <ErrorNotice error={error} />}
      {value === undefined && error === undefined && <p class="quiet">Loading…</p>}
      {cluster !== undefined && (
        <>
          <ClusterHead cluster={cluster} />
          <ClusterActions cluster={cluster} names={names} clock={clock} onWritten={() => reread()} />
          <MemberTable cluster={cluster} names={names} onWritten={() => reread()} />
          <p class="quiet small">
            Created <Time at={cluster.createdAt} />, last changed <Time at={cluster.updatedAt} />
          </p>
        </>
      )}
    </div>
  );
}
