// Sets a profile of a location or a lock of a connector: what it would change is shown before it is sent.
import { useEffect, useRef, useState } from 'preact/hooks';
import { HIGHEST_PRIORITY } from '../../machines/profile-stack.js';
import { statusAt } from '../../machines/time.js';
import { announce } from '../ui/announce.js';
import { Button } from '../ui/button.js';
import { Choice, Field } from '../ui/field.js';
import { kwText } from '../ui/figures.js';
import { ErrorNotice, Notice } from '../ui/notice.js';
import { localText, utcText } from '../ui/time.js';
import { fromLocalInput } from './local-input.js';
import { type LimitState, previewOf } from './preview.js';
import { PreviewView } from './preview-view.js';
import {
  freshDraft,
  messagesByField,
  type ProfileDraft,
  profileOfDraft,
  requestOf,
} from './profile-draft.js';
import { Sentence } from './sentence.js';
import { type ServerClock, useEverySecond } from './server-clock.js';
import { useSubmission } from './use-submission.js';

const FIELDS = ['priority', 'limitKw', 'startTime', 'endTime'] as const;
const PRIORITIES = Array.from({ length: HIGHEST_PRIORITY + 1 }, (_, i) => HIGHEST_PRIORITY - i);

interface Props {
  /** Where it is posted, below `/v1`. */
  readonly address: string;
  readonly state: LimitState;
  /** What applies where no profile is active, in a word. */
  readonly unlimited: string;
  readonly submitText: string;
  readonly clock: ServerClock;
  /** It was written; there may be warnings to read. */
  readonly onWritten: (hasWarnings: boolean) => void;
}

export function ScheduleForm({ address, state, unlimited, submitText, clock, onWritten }: Props) {
  useEverySecond();
  const nowMs = clock.nowMs();
  const [draft, setDraft] = useState<ProfileDraft>(() => freshDraft(nowMs));
  const { isBusy, error, written, send } = useSubmission<object>(({ warnings }) => {
    announce('The profile was set.', warnings.length > 0 ? 'warning' : 'good');
    onWritten(warnings.length > 0);
  });
  const form = useRef<HTMLFormElement>(null);
  // It may come in the place of the button that asked for it.
  useEffect(() => form.current?.querySelector('select')?.focus(), []);
  const messages = messagesByField(error, FIELDS);
  const profile = profileOfDraft(draft, nowMs);
  const set = (part: Partial<ProfileDraft>) => setDraft((before) => ({ ...before, ...part }));
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
      <Choice
        label="Priority"
        value={draft.priority}
        options={PRIORITIES.map((priority) => [String(priority), priorityText(priority, state, nowMs)])}
        hint="The highest active priority decides. A profile of the same priority is replaced."
        error={messages.get('priority')}
        onChoose={(priority) => set({ priority })}
      />
      <Field
        label="Limit in kW"
        inputMode="decimal"
        autoComplete="off"
        value={draft.limitKw}
        error={messages.get('limitKw')}
        onInput={(limitKw) => set({ limitKw })}
      />
      <div class="window">
        <Field
          label="Start"
          type="datetime-local"
          step={1}
          value={draft.startTime}
          hint={utcOf(draft.startTime)}
          error={messages.get('startTime')}
          onInput={(startTime) => set({ startTime })}
        />
        <Field
          label="End"
          type="datetime-local"
          step={1}
          value={draft.endTime}
          hint={utcOf(draft.endTime)}
          error={messages.get('endTime')}
          onInput={(endTime) => set({ endTime })}
        />
      </div>
      <PreviewView
        unlimited={unlimited}
        preview={profile && previewOf(state, { kind: 'profile', profile }, nowMs)}
      />
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

function utcOf(text: string): string | undefined {
  const atMs = fromLocalInput(text);
  return atMs === undefined ? undefined : utcText(new Date(atMs).toISOString());
}

function priorityText(priority: number, { stack }: LimitState, nowMs: number): string {
  const held = stack.find((profile) => profile.priority === priority);
  const name = `${priority}${priority === HIGHEST_PRIORITY ? ', highest' : priority === 0 ? ', lowest' : ''}`;
  if (held === undefined) return name;
  const status = statusAt(held, nowMs);
  if (status === 'EXPIRED') return `${name} (held ${kwText(held.limitKw)}, ${status})`;
  return `${name} (replaces ${kwText(held.limitKw)}, ${status}, until ${localText(new Date(held.endsAtMs).toISOString(), true)})`;
}
