// Choice of any number of values, with a checkbox for each.
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

export function CheckList<Value extends string>({
  legend,
  note,
  error,
  values,
  chosen,
  onChange,
  children,
}: {
  readonly legend: string;
  readonly note: string;
  /** Replaces the note. */
  readonly error: string | undefined;
  readonly values: readonly Value[];
  /** In the order of the clicks. */
  readonly chosen: readonly string[];
  readonly onChange: (chosen: readonly string[]) => void;
  /** The text beside the checkbox of a value. */
  readonly children: (value: Value) => ComponentChildren;
}) {
  const id = useId();
  return (
    <fieldset class="members" aria-describedby={id}>
      <legend>{legend}</legend>
      <ul aria-label={legend}>
        {values.map((value) => (
          <li key={value}>
            <label>
              <input
                type="checkbox"
                checked={chosen.includes(value)}
                onChange={(event) =>
                  onChange(
                    event.currentTarget.checked
                      ? [...chosen, value]
                      : chosen.filter((other) => other !== value),
                  )
                }
              />
              <span>{children(value)}</span>
            </label>
          </li>
        ))}
      </ul>
      <p id={id} class={error === undefined ? 'hint' : 'hint wrong'} role="status">
        {error ?? note}
      </p>
    </fieldset>
  );
}
