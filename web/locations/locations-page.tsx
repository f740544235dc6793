// All locations at a glance: what each draws of what it may, and what needs a look.
import type { LocationSummary } from '../../src/wire/operator-locations.js';
import { Notice } from '../ui/notice.js';
import { Table } from '../ui/table.js';
import { LOCATION_COLUMNS } from './location-columns.js';
import { useLocations } from './use-locations.js';

export function LocationsPage() {
  const { value: locations, error } = useLocations();
  return (
    <>
      <h1>Locations</h1>
      {error !== undefined && <Notice kind="error">{error.message}</Notice>}
      {locations !== undefined && (
        <Table label="Locations" columns={LOCATION_COLUMNS} rows={locations} rowKey={keyOf} />
      )}
    </>
  );
}

const keyOf = ({ locationId }: LocationSummary) => locationId;
