// Choice of a span of the past: the last hours or days, or from one instant to another.
import { useState } from 'preact/hooks';
import type { ApiError } from '../api/api-error.js';
import { InstantField } from '../location/instant-field.js';
import { fromLocalInput, toLocalInput } from '../location/local-input.js';
import { messagesByField } from '../location/profile-draft.js';
import type { ServerClock } from '../location/server-clock.js';
import { Button } from '../ui/button.js';
import { Choice } from '../ui/field.js';
import type { AskedSpan } from './use-alarms.js';

const HOUR_MS = 3_600_000;

const LENGTHS: readonly (readonly [hours: string, text: string])[] = [
  ['1', 'The last hour'],
  ['24', 'The last 24 hours'],
  ['168', 'The last 7 days'],
  ['720', 'The last 30 days'],
];
const OTHER = 'other';

/** The initial span: the last 24 hours. */
export function lastDay(clock: ServerClock): AskedSpan {
  return lastHours(24, clock);
}

export function SpanChoice({
  clock,
  error,
  onChoose,
}: {
  readonly clock: ServerClock;
  /** The service's reason for refusing the chosen span. */
  readonly error: ApiError | undefined;
  readonly onChoose: (span: AskedSpan) => void;
}) {
  const [chosen, setChosen] = useState('24');
  const [text, setText] = useState({ from: '', to: '' });
  const messages = messagesByField(error, ['from', 'to']);
  function choose(value: string): void {
    setChosen(value);
    if (value !== OTHER) onChoose(lastHours(Number(value), clock));
    else setText({ from: toLocalInput(clock.nowMs() - 24 * HOUR_MS), to: toLocalInput(clock.nowMs()) });
  }
  return (
    <form
      class="row span-choice"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        onChoose({ from: instantOf(text.from) ?? '', to: instantOf(text.to) });
      }}
    >
      <Choice label="Span" value={chosen} options={[...LENGTHS, [OTHER, 'From … to …']]} onChoose={choose} />
      {chosen === OTHER && (
        <>
          <InstantField
            label="From"
            value={text.from}
            error={messages.get('from')}
            onInput={(from) => setText((before) => ({ ...before, from }))}
          />
          <InstantField
            label="To (empty: now)"
            value={text.to}
            error={messages.get('to')}
            onInput={(to) => setText((before) => ({ ...before, to }))}
          />
          <Button kind="primary" type="submit">
            Show
          </Button>
        </>
      )}
    </form>
  );
}

function lastHours(hours: number, clock: ServerClock): AskedSpan {
  return { from: new Date(clock.nowMs() - hours * HOUR_MS).toISOString(), to: undefined };
}

function instantOf(text: string): string | undefined {
  const atMs = fromLocalInput(text);
  return atMs === undefined ? undefined : new Date(atMs).toISOString();
}
