// Fuses side by side, the first few in sight and the others folded away.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';

/** More are folded away: a site may have a feeder for each row of its car park. */
const FUSES_SHOWN = 6;

/** `fuse` draws one of them; those folded away are drawn once they are asked for, so that only then they read anything. */
export function FuseGrid<F>({
  fuses,
  fuse,
}: {
  readonly fuses: readonly F[];
  readonly fuse: (of: F) => ComponentChildren;
}) {
  const [isOpen, setOpen] = useState(false);
  const folded = fuses.slice(FUSES_SHOWN);
  return (
    <>
      <div class="fuses">{fuses.slice(0, FUSES_SHOWN).map(fuse)}</div>
      {folded.length > 0 && (
        <details onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary>And {folded.length} more</summary>
          {isOpen && <div class="fuses">{folded.map(fuse)}</div>}
        </details>
      )}
    </>
  );
}
