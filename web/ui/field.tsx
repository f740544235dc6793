// A labelled input with a hint and an error; screen readers read both.
import type { ComponentChildren, InputHTMLAttributes } from 'preact';
import { useId } from 'preact/hooks';
import { inLocalTime } from './time.js';

export interface FieldFrame {
  readonly label: string;
  readonly hint?: string | undefined;
  /** Error of the value. */
  readonly error?: string | undefined;
}

type InputAttributes = Omit<InputHTMLAttributes<HTMLInputElement>, 'label' | 'onInput' | 'id'>;

export function Field({
  label,
  hint,
  error,
  onInput,
  ...input
}: FieldFrame & InputAttributes & { readonly onInput?: (value: string) => void }) {
  return (
    <Framed label={label} hint={hint} error={error}>
      {(named) => <input {...input} {...named} onInput={(event) => onInput?.(event.currentTarget.value)} />}
    </Framed>
  );
}

export function Choice({
  label,
  hint,
  error,
  value,
  options,
  onChoose,
}: FieldFrame & {
  readonly value: string;
  /** Value and text of each. */
  readonly options: readonly (readonly [value: string, text: string])[];
  readonly onChoose: (value: string) => void;
}) {
  return (
    <Framed label={label} hint={hint} error={error}>
      {(named) => (
        <select {...named} value={value} onChange={(event) => onChoose(event.currentTarget.value)}>
          {options.map(([option, text]) => (
            <option key={option} value={option}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Framed>
  );
}

interface Named {
  readonly id: string;
  readonly 'aria-invalid': boolean;
  readonly 'aria-describedby': string | undefined;
}

/** Label, hint and error around any input; spread the argument of `children` on the input. */
export function Framed({
  label,
  hint,
  error,
  children,
}: FieldFrame & { readonly children: (named: Named) => ComponentChildren }) {
  const id = useId();
  const note = error ?? hint;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({
        id,
        'aria-invalid': error !== undefined,
        'aria-describedby': note === undefined ? undefined : `${id}-note`,
      })}
      {note !== undefined && (
        <p id={`${id}-note`} class={error === undefined ? 'hint' : 'hint wrong'}>
          {inLocalTime(note)}
        </p>
      )}
    </div>
  );
}
