// Form that creates or changes a cluster: name, cap and members, with the service's message for each field.
import { useState } from 'preact/hooks';
import type { Cluster } from '../../src/features/clusters/contract.js';
import type { LocationSummary } from '../../src/features/locations/contract.js';
import type { ApiClient, Written } from '../api/client.js';
import { messagesByField } from '../location/profile-draft.js';
import { SubmissionForm } from '../location/submission-form.js';
import { useSubmission } from '../location/use-submission.js';
import { LocationPicker } from '../locations/location-picker.js';
import { announce } from '../ui/announce.js';
import { Choice, Field } from '../ui/field.js';
import type { ClusterDraft } from './cluster-draft.js';

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
      <LocationPicker
        legend="Members"
        locations={locations}
        chosen={draft.locationIds}
        error={messages.get('locationIds')}
        onChange={(locationIds) => onChange({ locationIds })}
      />
    </>
  );
}
