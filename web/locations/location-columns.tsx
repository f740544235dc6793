import { kw } from '../../machines/values/figures.js';
import type { LocationSummary } from '../../src/features/locations/contract.js';
import { hrefOf } from '../route.js';
import { Badge, type Tone } from '../ui/badge.js';
import { DrawnKw, estimateText } from '../ui/drawn.js';
import { MeterBar, shareOf } from '../ui/meter-bar.js';
import type { Column } from '../ui/table.js';

export const LOCATION_COLUMNS: readonly Column<LocationSummary>[] = [
  {
    key: 'name',
    header: 'Location',
    isRowHeader: true,
    class: 'name',
    cell: ({ locationId, name, status }) => (
      <>
        <a href={hrefOf('locations', locationId)} title={name}>
          {name}
        </a>{' '}
        {status === 'INACTIVE' && <Badge>Inactive</Badge>}
      </>
    ),
    sortValue: ({ name }) => name,
  },
  {
    key: 'actualKw',
    header: 'Power kW',
    align: 'end',
    class: 'figure',
    cell: ({ actualKw, estimatedKw }) => <DrawnKw actualKw={actualKw} estimate={estimateText(estimatedKw)} />,
    sortValue: ({ actualKw }) => actualKw,
  },
  {
    key: 'use',
    header: 'Use',
    class: 'use',
    cell: ({ actualKw, gridLimitKw }) => <MeterBar value={actualKw} limit={gridLimitKw} />,
    sortValue: ({ actualKw, gridLimitKw }) => shareOf(actualKw, gridLimitKw),
  },
  {
    key: 'gridLimitKw',
    header: 'Limit kW',
    align: 'end',
    class: 'figure',
    cell: ({ gridLimitKw }) => kw(gridLimitKw),
    sortValue: ({ gridLimitKw }) => gridLimitKw,
  },
  count('connectors', 'Connectors', 'neutral', true),
  count('lockedConnectors', 'Locked', 'lock', true),
  count('silentConnectors', 'Silent', 'warning', true),
  count('openAlarms', 'Alarms', 'bad', false),
];

type Count = 'connectors' | 'lockedConnectors' | 'silentConnectors' | 'openAlarms';

function count(key: Count, header: string, tone: Tone, isWideOnly: boolean): Column<LocationSummary> {
  return {
    key,
    header,
    align: 'end',
    class: 'count',
    isWideOnly,
    cell: ({ [key]: value }) => <Count value={value} tone={tone} />,
    sortValue: ({ [key]: value }) => value,
  };
}

/** A zero is not highlighted. */
function Count({ value, tone }: { readonly value: number; readonly tone: Tone }) {
  if (value === 0) return <span class="quiet">0</span>;
  return tone === 'neutral' ? value : <Badge tone={tone}>{value}</Badge>;
}
