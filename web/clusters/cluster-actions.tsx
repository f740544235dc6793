// Actions on a cluster: a schedule for all members, a change, and deletion.
import { useState } from 'preact/hooks';
import type { Cluster, ClusterDetail } from '../../src/wire/rest.js';
import { path } from '../api/client.js';
import { useResource } from '../api/resource.js';
import type { ServerClock } from '../location/server-clock.js';
import type { LocationNames } from '../locations/use-location-names.js';
import { readLocations } from '../locations/use-locations.js';
import { hrefOf } from '../route.js';
import { Button } from '../ui/button.js';
import { Dialog } from '../ui/dialog.js';
import { ErrorNotice } from '../ui/notice.js';
import { changeOf, draftOf } from './cluster-draft.js';
import { ClusterForm } from './cluster-form.js';
import { ClusterScheduleForm } from './cluster-schedule.js';
import { ConfirmDialog } from './confirm-dialog.js';

interface Props {
  readonly cluster: ClusterDetail;
  readonly names: LocationNames;
  readonly clock: ServerClock;
  readonly onWritten: () => void;
}

export function ClusterActions({ cluster, names, clock, onWritten }: Props) {
  const [open, setOpen] = useState<'schedule' | 'change' | 'delete'>();
  const close = () => setOpen(undefined);
  return (
    <div class="row">
      <Button kind="primary" onClick={() => setOpen('schedule')}>
        Set a schedule for all…
      </Button>
      <Button onClick={() => setOpen('change')}>Change…</Button>
      <Button kind="danger" onClick={() => setOpen('delete')}>
        Delete…
      </Button>
      {open === 'schedule' && (
        <Dialog title="Set a schedule for all members" onClose={close}>
          <ClusterScheduleForm
            clusterId={cluster.clusterId}
            clock={clock}
            names={names}
            onWritten={onWritten}
            onDone={close}
          />
        </Dialog>
      )}
      {open === 'change' && (
        <Dialog title="Change the cluster" onClose={close}>
          <Change cluster={cluster} onWritten={onWritten} onDone={close} />
        </Dialog>
      )}
      {open === 'delete' && (
        <ConfirmDialog
          title="Delete the cluster"
          text={`The cluster ${cluster.name} is deleted for good. Its locations stay, and the cap no longer limits them.`}
          actionText="Delete the cluster"
          doneText={`The cluster ${cluster.name} was deleted.`}
          write={(client) => client.delete(path`/clusters/${cluster.clusterId}`)}
          onDone={() => location.assign(hrefOf('clusters'))}
          onClose={close}
        />
      )}
    </div>
  );
}

function Change({
  cluster,
  onWritten,
  onDone,
}: {
  readonly cluster: Cluster;
  readonly onWritten: () => void;
  readonly onDone: () => void;
}) {
  const [before] = useState(() => draftOf(cluster));
  const { value: locations, error } = useResource(readLocations, []);
  if (error !== undefined) return <ErrorNotice error={error} />;
  if (locations === undefined) return <p class="quiet">Loading…</p>;
  return (
    <ClusterForm
      first={before}
      locations={locations}
      isNew={false}
      submitText="Change the cluster"
      write={(client, draft) => {
        const change = changeOf(draft, before);
        // An empty change is not sent, because the service would refuse it.
        if (Object.keys(change).length === 0) return Promise.resolve({ body: cluster, warnings: [] });
        return client.patch<Cluster>(path`/clusters/${cluster.clusterId}`, change);
      }}
      onWritten={onWritten}
      onDone={onDone}
    />
  );
}
