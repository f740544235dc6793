// Choice of locations: a checkbox for each, chosen ones first, with a filter by name or id.
import { useId, useMemo, useState } from 'preact/hooks';
import { compareNaturally } from '../../machines/values/natural-order.js';
import type { LocationSummary } from '../../src/features/locations/contract.js';
import { Badge } from '../ui/badge.js';
import { Field } from '../ui/field.js';

const SHOWN_AT_MOST = 200;

export function LocationPicker({
  legend,
  locations,
  chosen,
  error,
  onChange,
}: {
  readonly legend: string;
  readonly locations: readonly LocationSummary[];
  /** Ids in the order of the clicks. */
  readonly chosen: readonly string[];
  readonly error: string | undefined;
  readonly onChange: (chosen: readonly string[]) => void;
}) {
  const id = useId();
  const [filter, setFilter] = useState('');
  const [chosenFirst] = useState(() => new Set(chosen));
  const ordered = useMemo(
    () =>
      [...locations].sort(
        (a, b) =>
          Number(chosenFirst.has(b.locationId)) - Number(chosenFirst.has(a.locationId)) ||
          compareNaturally(a.name, b.name),
      ),
    [locations, chosenFirst],
  );
  const wanted = filter.trim().toLowerCase();
  const found = ordered.filter(({ name, locationId }) =>
    [name, locationId].some((text) => text.toLowerCase().includes(wanted)),
  );
  const more = found.length - SHOWN_AT_MOST;
  const ticked = new Set(chosen);
  const toggle = (locationId: string) =>
    onChange(ticked.has(locationId) ? chosen.filter((held) => held !== locationId) : [...chosen, locationId]);
  return (
    <fieldset class="members" aria-describedby={`${id}-note`}>
      <legend>{legend}</legend>
      <Field label="Filter locations by name or id" type="search" value={filter} onInput={setFilter} />
      <ul aria-label="Locations">
        {found.slice(0, SHOWN_AT_MOST).map((location) => (
          <Member
            key={location.locationId}
            location={location}
            isTicked={ticked.has(location.locationId)}
            isInvalid={error !== undefined}
            onToggle={() => toggle(location.locationId)}
          />
        ))}
      </ul>
      {found.length === 0 && <p class="quiet small">No location matches.</p>}
      {more > 0 && <p class="quiet small">And {more} more: filter to find them.</p>}
      <p id={`${id}-note`} class={error === undefined ? 'hint' : 'hint wrong'} role="status">
        {chosen.length} chosen{error === undefined ? '' : `: ${error}`}
      </p>
    </fieldset>
  );
}

function Member({
  location: { locationId, name, status },
  isTicked,
  isInvalid,
  onToggle,
}: {
  readonly location: LocationSummary;
  readonly isTicked: boolean;
  readonly isInvalid: boolean;
  readonly onToggle: () => void;
}) {
  return (
    <li>
      <label>
        <input type="checkbox" checked={isTicked} aria-invalid={isInvalid} onChange={onToggle} />
        <span>
          {name} {name !== locationId && <span class="quiet small">{locationId}</span>}{' '}
          {status === 'INACTIVE' && <Badge>INACTIVE</Badge>}
        </span>
      </label>
    </li>
  );
}
