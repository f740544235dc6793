// Table of the members of a cluster: the effective limit of each, its share of the cap, and its power.
import { useMemo, useState } from 'preact/hooks';
import { kw } from '../../machines/values/figures.js';
import type { ClusterDetail } from '../../src/wire/rest.js';
import { path } from '../api/client.js';
import type { LocationNames } from '../locations/use-location-names.js';
import { hrefOf } from '../route.js';
import { DrawnKw, estimateText } from '../ui/drawn.js';
import { MeterBar } from '../ui/meter-bar.js';
import { type Column, Table } from '../ui/table.js';
import { ConfirmDialog } from './confirm-dialog.js';

type Member = ClusterDetail['liveStatus']['locations'][number];

export function MemberTable({
  cluster,
  names,
  onWritten,
}: {
  readonly cluster: ClusterDetail;
  readonly names: LocationNames;
  readonly onWritten: () => void;
}) {
  const [asked, setAsked] = useState<string>();
  const columns = useMemo(() => memberColumns(names, setAsked), [names]);
  const { locations } = cluster.liveStatus;
  return (
    <section class="stack" aria-label="Members">
      <h2>Members: {locations.length}</h2>
      <Table
        label="Members"
        columns={columns}
        rows={locations}
        rowKey={({ locationId }) => locationId}
        firstOrder={{ key: 'name', direction: 'ascending' }}
      />
      {asked !== undefined && (
        <ConfirmDialog
          title="Remove a member"
          text={`${names(asked)} leaves the cluster ${cluster.name}. The cap then no longer limits it, and the others share it alone.`}
          actionText="Remove the member"
          doneText={`${names(asked)} is no longer a member.`}
          write={(client) => client.delete(path`/clusters/${cluster.clusterId}/locations/${asked}`)}
          onDone={() => {
            setAsked(undefined);
            onWritten();
          }}
          onClose={() => setAsked(undefined)}
        />
      )}
    </section>
  );
}

function memberColumns(
  names: LocationNames,
  onRemove: (locationId: string) => void,
): readonly Column<Member>[] {
  return [
    {
      key: 'name',
      header: 'Location',
      isRowHeader: true,
      class: 'name',
      cell: ({ locationId }) => (
        <a href={hrefOf('locations', locationId)} title={names(locationId)}>
          {names(locationId)}
        </a>
      ),
      sortValue: ({ locationId }) => names(locationId),
    },
    figure('setLimitKw', 'Effective limit kW'),
    figure('effectiveLimitKw', 'Share kW'),
    {
      key: 'actualKw',
      header: 'Power kW',
      align: 'end',
      class: 'figure',
      cell: ({ actualKw, estimatedKw }) => (
        <DrawnKw actualKw={actualKw} estimate={estimateText(estimatedKw)} />
      ),
      sortValue: ({ actualKw }) => actualKw,
    },
    {
      key: 'use',
      header: 'Use',
      class: 'use',
      isWideOnly: true,
      cell: ({ actualKw, effectiveLimitKw }) => <MeterBar value={actualKw} limit={effectiveLimitKw} />,
    },
    {
      key: 'remove',
      header: 'Change',
      class: 'remove',
      cell: ({ locationId }) => (
        <button
          type="button"
          class="button plain"
          aria-label={`Remove ${names(locationId)}`}
          onClick={() => onRemove(locationId)}
        >
          Remove
        </button>
      ),
    },
  ];
}

function figure(key: 'setLimitKw' | 'effectiveLimitKw', header: string): Column<Member> {
  return {
    key,
    header,
    align: 'end',
    class: 'figure',
    cell: ({ [key]: value }) => kw(value),
    sortValue: ({ [key]: value }) => value,
  };
}
