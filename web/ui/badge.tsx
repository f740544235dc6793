// A word or number that stands out: how it is coloured never says more than its text.
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
