// Figures in a row, each with its name: what counts about a location at a glance.
import type { ComponentChildren } from 'preact';

export function FigureRow({ children }: { readonly children: ComponentChildren }) {
  return <dl class="figure-row">{children}</dl>;
}

export function Figure({
  name,
  note,
  children,
}: {
  readonly name: string;
  readonly note?: ComponentChildren;
  readonly children: ComponentChildren;
}) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
      {note !== undefined && <dd class="note">{note}</dd>}
    </div>
  );
}
