// Page of all clusters: the power of each against its cap, and a button to create one.
import './clusters.css';
import { useState } from 'preact/hooks';
import type { Cluster } from '../../src/wire/rest.js';
import { useTitle } from '../shell/title.js';
import { Button } from '../ui/button.js';
import { Dialog } from '../ui/dialog.js';
import { ErrorNotice } from '../ui/notice.js';
import { Table } from '../ui/table.js';
import { CLUSTER_COLUMNS } from './cluster-columns.js';
import { creationOf, NEW_CLUSTER } from './cluster-draft.js';
import { ClusterForm } from './cluster-form.js';
import { useClusters } from './use-clusters.js';

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
