import { kw } from '../../machines/values/figures.js';
import { hrefOf } from '../route.js';
import { DrawnKw, estimateText } from '../ui/drawn.js';
import { MeterBar, shareOf } from '../ui/meter-bar.js';
import type { Column } from '../ui/table.js';
import { CapBadge, StatusBadge } from './cluster-badges.js';
import { isWithin } from './cluster-live.js';
import type { ListedCluster } from './use-clusters.js';

const NO_CAP = -1;

export const CLUSTER_COLUMNS: readonly Column<ListedCluster>[] = [
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
