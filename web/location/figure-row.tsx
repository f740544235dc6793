// Figures in a row, each with its name: what counts about a location at a glance.
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
  /** Of a name that is not plain by itself: shown where the pointer, a tap or the keyboard reaches it. */
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
