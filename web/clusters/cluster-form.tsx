// Form that creates or changes a cluster: name, cap and members, with the service's message for each field.
import { useId, useMemo, useState } from 'preact/hooks';
import { compareNaturally } from '../../machines/values/natural-order.js';
import type { Cluster } from '../../src/features/clusters/contract.js';
import type { LocationSummary } from '../../src/features/locations/contract.js';
import type { ApiClient, Written } from '../api/client.js';
import { messagesByField } from '../location/profile-draft.js';
import { SubmissionForm } from '../location/submission-form.js';
import { useSubmission } from '../location/use-submission.js';
import { announce } from '../ui/announce.js';
import { Badge } from '../ui/badge.js';
import { Choice, Field } from '../ui/field.js';
import type { ClusterDraft } from './cluster-draft.js';

// Choice of the members of a cluster: a checkbox for each location, members first, with a filter by name or id.
const SHOWN_AT_MOST = 200;

function MemberPicker({
  locations,
  chosen,
  error,
  onChange,
}: {
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
      <legend>Members</legend>
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

interface Props {
  readonly first: ClusterDraft;
  readonly locations: readonly LocationSummary[];
  /** A new cluster is always ACTIVE. */
  readonly isNew: boolean;
  readonly submitText: string;
  readonly write: (client: ApiClient, draft: ClusterDraft) => Promise<Written<Cluster>>;
  readonly onWritten: () => void;
  /** Called after a write without warnings, or after the user has read them. */
  readonly onDone: () => void;
}

const FIELDS = ['name', 'limitKw', 'locationIds', 'status'] as const;

const STATUSES = [
  ['ACTIVE', 'ACTIVE: the members share the cap'],
  ['INACTIVE', 'INACTIVE: no member is held to the cap'],
] as const;

export function ClusterForm({ first, locations, isNew, submitText, write, onWritten, onDone }: Props) {
  const [draft, setDraft] = useState(first);
  const submission = useSubmission<Cluster>(({ warnings }) => {
    announce(`The cluster was ${isNew ? 'created' : 'changed'}.`, warnings.length > 0 ? 'warning' : 'good');
    onWritten();
    if (warnings.length === 0) onDone();
  });
  const messages = messagesByField(submission.error, FIELDS);
  const set = (part: Partial<ClusterDraft>) => setDraft((before) => ({ ...before, ...part }));
  return (
    <SubmissionForm
      submission={submission}
      write={(client) => write(client, draft)}
      isToldAtFields={messages.size > 0}
      focusOn="input"
      submitText={submitText}
      onDone={onDone}
    >
      <ClusterFields draft={draft} locations={locations} isNew={isNew} messages={messages} onChange={set} />
    </SubmissionForm>
  );
}

interface FieldsProps {
  readonly draft: ClusterDraft;
  readonly locations: readonly LocationSummary[];
  readonly isNew: boolean;
  /** Error messages by field. */
  readonly messages: ReadonlyMap<string, string>;
  readonly onChange: (part: Partial<ClusterDraft>) => void;
}

function ClusterFields({ draft, locations, isNew, messages, onChange }: FieldsProps) {
  return (
    <>
      <Field
        label="Name"
        autoComplete="off"
        value={draft.name}
        error={messages.get('name')}
        onInput={(name) => onChange({ name })}
      />
      <Field
        label="Cap in kW"
        inputMode="decimal"
        autoComplete="off"
        value={draft.limitKw}
        hint="Highest power of all members together. Leave it empty for no cap."
        error={messages.get('limitKw')}
        onInput={(limitKw) => onChange({ limitKw })}
      />
      {!isNew && (
        <Choice
          label="Status"
          value={draft.status}
          options={STATUSES}
          error={messages.get('status')}
          onChoose={(status) => onChange({ status: status === 'INACTIVE' ? 'INACTIVE' : 'ACTIVE' })}
        />
      )}
      <MemberPicker
        locations={locations}
        chosen={draft.locationIds}
        error={messages.get('locationIds')}
        onChange={(locationIds) => onChange({ locationIds })}
      />
    </>
  );
}
