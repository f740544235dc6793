// Sets a profile of a location or a lock of a connector: what it would change is shown before it is sent.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { statusAt } from '../../machines/values/time.js';
import { announce } from '../ui/announce.js';
import { Button } from '../ui/button.js';
import { kwText } from '../ui/figures.js';
import { ErrorNotice, Notice } from '../ui/notice.js';
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
import { Sentence } from './sentence.js';
import { type ServerClock, useEverySecond } from './server-clock.js';
import { useSubmission } from './use-submission.js';

interface Props {
  /** Where it is posted, below `/v1`. */
  readonly address: string;
  readonly state: LimitState;
  /** Shows what the change would do; undefined while the fields say nothing that could be sent. */
  readonly preview: (change: LimitChange | undefined) => ComponentChildren;
  readonly submitText: string;
  /** What is announced once it was written. */
  readonly doneText?: string;
  readonly clock: ServerClock;
  /** It was written; there may be warnings to read. */
  readonly onWritten: (hasWarnings: boolean) => void;
}

export function ScheduleForm({
  address,
  state,
  preview,
  submitText,
  doneText = 'The profile was set.',
  clock,
  onWritten,
}: Props) {
  useEverySecond();
  const nowMs = clock.nowMs();
  const [draft, setDraft] = useState<ProfileDraft>(() => freshDraft(nowMs));
  const { isBusy, error, written, send } = useSubmission<object>(({ warnings }) => {
    announce(doneText, warnings.length > 0 ? 'warning' : 'good');
    onWritten(warnings.length > 0);
  });
  const form = useRef<HTMLFormElement>(null);
  // The form may replace the button that opened it: then it takes the focus.
  useEffect(() => form.current?.querySelector('select')?.focus(), []);
  const messages = messagesByField(error, PROFILE_FIELDS);
  const profile = profileOfDraft(draft, nowMs);
  return (
    <form
      ref={form}
      class="stack schedule-form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void send((client) => client.post(address, requestOf(draft)));
      }}
    >
      <ProfileFields
        draft={draft}
        messages={messages}
        priorityNote={(priority) => replacedNote(priority, state, nowMs)}
        onChange={(part) => setDraft((before) => ({ ...before, ...part }))}
      />
      {preview(profile && { kind: 'profile', profile })}
      {error !== undefined && messages.size === 0 && <ErrorNotice error={error} />}
      {written?.warnings.map((text) => (
        <Notice key={text} kind="warning">
          It was set, but: <Sentence text={text} />
        </Notice>
      ))}
      <div class="row">
        <Button kind="primary" type="submit" isBusy={isBusy}>
          {submitText}
        </Button>
      </div>
    </form>
  );
}

function replacedNote(priority: number, { stack }: LimitState, nowMs: number): string {
  const held = stack.find((profile) => profile.priority === priority);
  if (held === undefined) return '';
  const status = statusAt(held, nowMs);
  if (status === 'EXPIRED') return ` (held ${kwText(held.limitKw)}, ${status})`;
  return ` (replaces ${kwText(held.limitKw)}, ${status}, until ${localText(new Date(held.endsAtMs).toISOString(), true)})`;
}
