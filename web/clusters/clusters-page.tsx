// Page of all clusters: the power of each against its cap, and a button to create one.
import './clusters.css';
import { useState } from 'preact/hooks';
import { kw } from '../../machines/values/figures.js';
import type { Cluster } from '../../src/features/clusters/contract.js';
import { hrefOf } from '../route.js';
import { useTitle } from '../shell/title.js';
import { Button } from '../ui/button.js';
import { Dialog } from '../ui/dialog.js';
import { DrawnKw, estimateText } from '../ui/drawn.js';
import { MeterBar, shareOf } from '../ui/meter-bar.js';
import { ErrorNotice } from '../ui/notice.js';
import { type Column, Table } from '../ui/table.js';
import { CapBadge, StatusBadge } from './cluster-badges.js';
import { creationOf, NEW_CLUSTER } from './cluster-draft.js';
import { ClusterForm } from './cluster-form.js';
import { isWithin } from './cluster-live.js';
import { type ListedCluster, useClusters } from './use-clusters.js';

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
