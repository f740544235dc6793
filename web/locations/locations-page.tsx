// Page of all locations: the power of each against its limit, and the states that need attention.
import './locations.css';
import { useMemo, useState } from 'preact/hooks';
import { kw } from '../../machines/values/figures.js';
import type { LocationSummary } from '../../src/features/locations/contract.js';
import { hrefOf } from '../route.js';
import { useTitle } from '../shell/title.js';
import { Badge, type Tone } from '../ui/badge.js';
import { DrawnKw, estimateText, sumOfEstimates } from '../ui/drawn.js';
import { Field } from '../ui/field.js';
import { isAbove, MeterBar, shareOf } from '../ui/meter-bar.js';
import { ErrorNotice } from '../ui/notice.js';
import { type Column, Table } from '../ui/table.js';
import { useLocations } from './use-locations.js';

const LOCATION_COLUMNS: readonly Column<LocationSummary>[] = [
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
    cell: ({ [key]: value }) => <CountCell value={value} tone={tone} />,
    sortValue: ({ [key]: value }) => value,
  };
}

/** A zero is not highlighted. */
function CountCell({ value, tone }: { readonly value: number; readonly tone: Tone }) {
  if (value === 0) return <span class="quiet">0</span>;
  return tone === 'neutral' ? value : <Badge tone={tone}>{value}</Badge>;
}

// The sums over all locations, in large figures.
function Totals({ locations }: { readonly locations: readonly LocationSummary[] }) {
  const sum = (figure: (location: LocationSummary) => number) =>
    locations.reduce((total, location) => total + figure(location), 0);
  const actualKw = sum((location) => location.actualKw);
  const estimatedKw = sumOfEstimates(locations.map((location) => location.estimatedKw));
  const gridLimitKw = sum((location) => location.gridLimitKw);
  const count = (name: Count) => sum((location) => location[name]).toLocaleString();
  return (
    <dl class="totals panel">
      <div class="draw">
        <dt>Drawn now</dt>
        <dd>
          <DrawnKw actualKw={actualKw} estimate={estimateText(estimatedKw)} />{' '}
          <span class="quiet">of {kw(gridLimitKw)} kW</span>
        </dd>
        <dd>
          <MeterBar value={actualKw} limit={gridLimitKw} />
        </dd>
      </div>
      <Total name="Connectors" value={count('connectors')} />
      <Total name="Locked" value={count('lockedConnectors')} />
      <Total name="Silent" value={count('silentConnectors')} />
      <Total name="Alarms" value={count('openAlarms')} />
    </dl>
  );
}

function Total({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

export function LocationsPage() {
  useTitle('Locations');
  const { value: locations, error } = useLocations();
  const [filter, setFilter] = useState('');
  const [isTroubledOnly, setTroubledOnly] = useState(false);
  const shown = useMemo(() => {
    const wanted = filter.trim().toLowerCase();
    return locations?.filter(
      (location) => matches(location, wanted) && (!isTroubledOnly || isTroubled(location)),
    );
  }, [locations, filter, isTroubledOnly]);
  return (
    <>
      <h1>Locations</h1>
      {error !== undefined && <ErrorNotice error={error} />}
      {locations === undefined && error === undefined && <p class="quiet">Loading…</p>}
      {locations !== undefined && shown !== undefined && (
        <>
          <Totals locations={locations} />
          <search class="row filters">
            <Field label="Filter by name or id" type="search" value={filter} onInput={setFilter} />
            <label class="check">
              <input
                type="checkbox"
                checked={isTroubledOnly}
                onChange={() => setTroubledOnly(!isTroubledOnly)}
              />
              Needs attention only
            </label>
            <p class="quiet small" role="status">
              {shown.length} of {locations.length} shown
            </p>
          </search>
          <Table
            label="Locations"
            columns={LOCATION_COLUMNS}
            rows={shown}
            rowKey={keyOf}
            firstOrder={BY_NAME}
            empty={locations.length === 0 ? NO_LOCATIONS : 'No location matches.'}
          />
        </>
      )}
    </>
  );
}

const BY_NAME = { key: 'name', direction: 'ascending' } as const;
const NO_LOCATIONS = 'This tenant has no locations yet: provision some with "headroom provision".';

const keyOf = ({ locationId }: LocationSummary) => locationId;

function matches({ name, locationId }: LocationSummary, wanted: string): boolean {
  return name.toLowerCase().includes(wanted) || locationId.toLowerCase().includes(wanted);
}

function isTroubled({ openAlarms, silentConnectors, actualKw, gridLimitKw }: LocationSummary): boolean {
  return openAlarms > 0 || silentConnectors > 0 || isAbove(actualKw, gridLimitKw);
}
