// A row of named figures about a location.
import type { ComponentChildren } from 'preact';
import { Term } from '../ui/term.js';

export function FigureRow({ children }: { readonly children: ComponentChildren }) {
  return <dl class="figure-row">{children}</dl>;
}

export function Figure({
  name,
  explanation,
  note,
  children,
}: {
  readonly name: string;
  /** Explanation of a name that is not clear on its own, shown on hover, tap or keyboard focus. */
  readonly explanation?: string;
  readonly note?: ComponentChildren;
  readonly children: ComponentChildren;
}) {
  return (
    <div>
      <dt>{explanation === undefined ? name : <Term word={name} definition={explanation} />}</dt>
      <dd>{children}</dd>
      {note !== undefined && <dd class="note">{note}</dd>}
    </div>
  );
}
