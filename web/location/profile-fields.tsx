// Fields of a limit profile: priority, limit and window, each with the service's error message.
import { HIGHEST_PRIORITY } from '../../machines/limits/profile-stack.js';
import { Choice, Field } from '../ui/field.js';
import { InstantField } from './instant-field.js';
import type { ProfileDraft } from './profile-draft.js';

export const PROFILE_FIELDS = ['priority', 'limitKw', 'startTime', 'endTime'] as const;
const PRIORITIES = Array.from({ length: HIGHEST_PRIORITY + 1 }, (_, i) => HIGHEST_PRIORITY - i);

export function ProfileFields({
  draft,
  messages,
  priorityNote = () => '',
  onChange,
}: {
  readonly draft: ProfileDraft;
  /** Error messages by field. */
  readonly messages: ReadonlyMap<string, string>;
  /** Text after a priority in the choice; begins with a space. */
  readonly priorityNote?: (priority: number) => string;
  readonly onChange: (part: Partial<ProfileDraft>) => void;
}) {
  return (
    <>
      <Choice
        label="Priority"
        value={draft.priority}
        options={PRIORITIES.map((priority) => [
          String(priority),
          `${priorityText(priority)}${priorityNote(priority)}`,
        ])}
        hint="The highest active priority decides. A profile of the same priority is replaced."
        error={messages.get('priority')}
        onChoose={(priority) => onChange({ priority })}
      />
      <Field
        label="Limit in kW"
        inputMode="decimal"
        autoComplete="off"
        value={draft.limitKw}
        error={messages.get('limitKw')}
        onInput={(limitKw) => onChange({ limitKw })}
      />
      <div class="window">
        <InstantField
          label="Start"
          value={draft.startTime}
          error={messages.get('startTime')}
          onInput={(startTime) => onChange({ startTime })}
        />
        <InstantField
          label="End"
          value={draft.endTime}
          error={messages.get('endTime')}
          onInput={(endTime) => onChange({ endTime })}
        />
      </div>
    </>
  );
}

function priorityText(priority: number): string {
  if (priority === HIGHEST_PRIORITY) return `${priority}, highest`;
  return priority === 0 ? `${priority}, lowest` : String(priority);
}
