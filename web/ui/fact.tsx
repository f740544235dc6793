// A name with its value, in a list of the class `facts`.
import type { ComponentChildren } from 'preact';

export function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}
