// A highlighted word or number. Its colour never adds information to the text.
import type { ComponentChildren } from 'preact';

export type Tone = 'neutral' | 'good' | 'info' | 'lock' | 'warning' | 'bad';

export function Badge({
  tone = 'neutral',
  title,
  children,
}: {
  readonly tone?: Tone;
  readonly title?: string;
  readonly children: ComponentChildren;
}) {
  return (
    <span class={`badge ${tone}`} title={title}>
      {children}
    </span>
  );
}
