// Page of all clusters: the power of each against its cap, and a button to create one.
import './clusters.css';
import { useMemo, useState } from 'preact/hooks';
import { kw } from '../../machines/values/figures.js';
import type { Cluster, ClusterList } from '../../src/features/clusters/contract.js';
import type { LocationSummary } from '../../src/features/locations/contract.js';
import type { ApiError } from '../api/api-error.js';
import { useResource } from '../api/resource.js';
import { useEvery } from '../location/server-clock.js';
import { useLocations } from '../locations/use-locations.js';
import { hrefOf } from '../route.js';
import { useTitle } from '../shell/title.js';
import { Button } from '../ui/button.js';
import { Dialog } from '../ui/dialog.js';
import { DrawnKw, estimateText, sumOfEstimates } from '../ui/drawn.js';
import { MeterBar, shareOf } from '../ui/meter-bar.js';
import { ErrorNotice } from '../ui/notice.js';
import { type Column, Table } from '../ui/table.js';
import { CapBadge, StatusBadge } from './cluster-badges.js';
import { creationOf, NEW_CLUSTER } from './cluster-draft.js';
import { ClusterForm } from './cluster-form.js';
import { isWithin } from './cluster-live.js';

// Reads the clusters of the tenant, each with the current total power of its members.

interface ListedCluster extends Cluster {
  readonly actualTotalKw: number;
  /** Estimated part of the total; null if all of it was measured. */
  readonly estimatedTotalKw: number | null;
}

interface Clusters {
  /** Newest first. */
  readonly clusters: readonly ListedCluster[] | undefined;
  readonly locations: readonly LocationSummary[] | undefined;
  readonly error: ApiError | undefined;
  reread(): void;
}

/** The stream has no events about changes of clusters by others. */
const EVERY_MS = 30_000;

function useClusters(): Clusters {
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

const NO_CAP = -1;

const CLUSTER_COLUMNS: readonly Column<ListedCluster>[] = [
  {
    key: 'name',
    header: 'Cluster',
    isRowHeader: true,
    class: 'name',
    cell: ({ clusterId, name }) => (
      <a href={hrefOf('clusters', clusterId)} title={name}>
        {name}
      </a>
    ),
    sortValue: ({ name }) => name,
  },
  {
    key: 'status',
    header: 'Status',
    class: 'status',
    cell: ({ status }) => <StatusBadge status={status} />,
    sortValue: ({ status }) => status,
  },
  {
    key: 'actualKw',
    header: 'Power kW',
    align: 'end',
    class: 'figure',
    cell: ({ actualTotalKw, estimatedTotalKw }) => (
      <DrawnKw actualKw={actualTotalKw} estimate={estimateText(estimatedTotalKw)} />
    ),
    sortValue: ({ actualTotalKw }) => actualTotalKw,
  },
  {
    key: 'use',
    header: 'Use',
    class: 'use',
    isWideOnly: true,
    cell: ({ actualTotalKw, limitKw }) =>
      limitKw !== null && <MeterBar value={actualTotalKw} limit={limitKw} />,
    sortValue: ({ actualTotalKw, limitKw }) => (limitKw === null ? NO_CAP : shareOf(actualTotalKw, limitKw)),
  },
  {
    key: 'limitKw',
    header: 'Cap kW',
    align: 'end',
    class: 'figure',
    cell: ({ limitKw }) => (limitKw === null ? '–' : kw(limitKw)),
    sortValue: ({ limitKw }) => limitKw ?? NO_CAP,
  },
  {
    key: 'within',
    header: 'Cap kept',
    class: 'within',
    isWideOnly: true,
    cell: ({ actualTotalKw, limitKw }) => (
      <CapBadge limitKw={limitKw} isWithin={isWithin(actualTotalKw, limitKw)} />
    ),
  },
  {
    key: 'members',
    header: 'Members',
    align: 'end',
    class: 'figure',
    isWideOnly: true,
    cell: ({ locationIds }) => locationIds.length,
    sortValue: ({ locationIds }) => locationIds.length,
  },
];

export function ClustersPage() {
  useTitle('Clusters');
  const { clusters, locations, error, reread } = useClusters();
  const [isOpen, setOpen] = useState(false);
  return (
    <div class="clusters">
      <div class="row between">
        <h1>Clusters</h1>
        <Button kind="primary" disabled={locations === undefined} onClick={() => setOpen(true)}>
          Create a cluster…
        </Button>
      </div>
      {error !== undefined && <ErrorNotice error={error} />}
      {clusters === undefined && error === undefined && <p class="quiet">Loading…</p>}
      {clusters !== undefined && (
        <Table
          label="Clusters"
          columns={CLUSTER_COLUMNS}
          rows={clusters}
          rowKey={keyOf}
          empty="No clusters: a cluster puts one cap over several locations."
        />
      )}
      {isOpen && locations !== undefined && (
        <Dialog title="Create a cluster" onClose={() => setOpen(false)}>
          <ClusterForm
            first={NEW_CLUSTER}
            locations={locations}
            isNew
            submitText="Create the cluster"
            write={(client, draft) => client.post<Cluster>('/clusters', creationOf(draft))}
            onWritten={reread}
            onDone={() => setOpen(false)}
          />
        </Dialog>
      )}
    </div>
  );
}

const keyOf = ({ clusterId }: Cluster) => clusterId;
