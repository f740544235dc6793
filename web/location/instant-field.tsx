// A field for an instant in the viewer's zone. The same instant appears below in UTC, which limits use.
import { Field } from '../ui/field.js';
import { utcText } from '../ui/time.js';
import { fromLocalInput } from './local-input.js';

export function InstantField({
  label,
  value,
  error,
  onInput,
}: {
  readonly label: string;
  /** In the format of a datetime-local input. */
  readonly value: string;
  readonly error?: string | undefined;
  readonly onInput: (value: string) => void;
}) {
  const atMs = fromLocalInput(value);
  return (
    <Field
      label={label}
      type="datetime-local"
      step={1}
      value={value}
      hint={atMs === undefined ? undefined : utcText(new Date(atMs).toISOString())}
      error={error}
      onInput={onInput}
    />
  );
}
