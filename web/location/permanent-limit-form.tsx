// Form for the permanent limit, which applies without an active profile. A preview shows the effect first.
import { useState } from 'preact/hooks';
import { path } from '../api/client.js';
import { announce } from '../ui/announce.js';
import { Field } from '../ui/field.js';
import { LocationPreview } from './location-preview.js';
import type { LimitState } from './preview.js';
import { kwOf, limitOf, messagesByField } from './profile-draft.js';
import type { ServerClock } from './server-clock.js';
import { SubmissionForm } from './submission-form.js';
import { useSubmission } from './use-submission.js';

export function PermanentLimitForm({
  locationId,
  state,
  clock,
  onWritten,
  onDone,
}: {
  readonly locationId: string;
  readonly state: LimitState;
  readonly clock: ServerClock;
  readonly onWritten: () => void;
  /** Called after a write without warnings, or after the user has read them. */
  readonly onDone: () => void;
}) {
  const [text, setText] = useState(() => String(state.fallbackKw ?? ''));
  const submission = useSubmission<object>(({ warnings }) => {
    announce('The permanent limit was set.', warnings.length > 0 ? 'warning' : 'good');
    onWritten();
    if (warnings.length === 0) onDone();
  });
  const message = messagesByField(submission.error, ['limitKw']).get('limitKw');
  const limitKw = kwOf(text);
  const canPreview = limitKw !== undefined && limitKw > 0;
  return (
    <SubmissionForm
      submission={submission}
      write={(client) => client.put(path`/locations/${locationId}/limit`, limitOf(text))}
      isToldAtFields={message !== undefined}
      submitText="Set the permanent limit"
      onDone={onDone}
    >
      <Field
        label="Permanent limit in kW"
        inputMode="decimal"
        autoComplete="off"
        value={text}
        error={message}
        onInput={setText}
      />
      <LocationPreview
        locationId={locationId}
        state={state}
        change={canPreview ? { kind: 'permanentLimit', limitKw } : undefined}
        nowMs={clock.nowMs()}
      />
    </SubmissionForm>
  );
}
