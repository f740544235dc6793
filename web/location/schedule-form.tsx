// Form for a profile of a location or a lock of a connector. A preview shows the effect before the request.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { kwText } from '../../machines/values/figures.js';
import { statusAt } from '../../machines/values/time.js';
import { announce } from '../ui/announce.js';
import { localText } from '../ui/time.js';
import type { LimitChange, LimitState } from './preview.js';
import {
  freshDraft,
  messagesByField,
  type ProfileDraft,
  profileOfDraft,
  requestOf,
} from './profile-draft.js';
import { PROFILE_FIELDS, ProfileFields } from './profile-fields.js';
import { type ServerClock, useEverySecond } from './server-clock.js';
import { SubmissionForm } from './submission-form.js';
import { useSubmission } from './use-submission.js';

interface Props {
  /** Address of the POST request, below `/v1`. */
  readonly address: string;
  readonly state: LimitState;
  /** Shows the effect of the change; undefined as long as the fields are not a valid change. */
  readonly preview: (change: LimitChange | undefined) => ComponentChildren;
  readonly submitText: string;
  /** Text of the announcement after the write. */
  readonly doneText?: string;
  readonly clock: ServerClock;
  readonly onWritten: () => void;
  /** Called after a write without warnings, or after the user has read them. */
  readonly onDone: () => void;
}

export function ScheduleForm({
  address,
  state,
  preview,
  submitText,
  doneText = 'The profile was set.',
  clock,
  onWritten,
  onDone,
}: Props) {
  useEverySecond();
  const nowMs = clock.nowMs();
  const [draft, setDraft] = useState<ProfileDraft>(() => freshDraft(nowMs));
  const submission = useSubmission<object>(({ warnings }) => {
    announce(doneText, warnings.length > 0 ? 'warning' : 'good');
    onWritten();
    if (warnings.length === 0) onDone();
  });
  const messages = messagesByField(submission.error, PROFILE_FIELDS);
  const profile = profileOfDraft(draft, nowMs);
  return (
    <SubmissionForm
      submission={submission}
      write={(client) => client.post(address, requestOf(draft))}
      isToldAtFields={messages.size > 0}
      focusOn="select"
      submitText={submitText}
      onDone={onDone}
    >
      <ProfileFields
        draft={draft}
        messages={messages}
        priorityNote={(priority) => replacedNote(priority, state, nowMs)}
        onChange={(part) => setDraft((before) => ({ ...before, ...part }))}
      />
      {preview(profile && { kind: 'profile', profile })}
    </SubmissionForm>
  );
}

function replacedNote(priority: number, { stack }: LimitState, nowMs: number): string {
  const held = stack.find((profile) => profile.priority === priority);
  if (held === undefined) return '';
  const status = statusAt(held, nowMs);
  if (status === 'EXPIRED') return ` (held ${kwText(held.limitKw)}, ${status})`;
  return ` (replaces ${kwText(held.limitKw)}, ${status}, until ${localText(new Date(held.endsAtMs).toISOString(), true)})`;
}
