// A list of a page, below its heading and the button that adds to it.
import type { ComponentChildren } from 'preact';
import { Button } from './button.js';

export function ListSection({
  heading,
  addText,
  onAdd,
  children,
}: {
  readonly heading: string;
  readonly addText: string;
  readonly onAdd: () => void;
  readonly children: ComponentChildren;
}) {
  return (
    <section aria-label={heading}>
      <div class="row between">
        <h2>{heading}</h2>
        <Button kind="primary" onClick={onAdd}>
          {addText}
        </Button>
      </div>
      {children}
    </section>
  );
}
