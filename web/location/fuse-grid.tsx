// Fuses side by side; the first few are visible and the others collapsed.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';

/** More fuses are collapsed, because a site may have a feeder for each row of its car park. */
const FUSES_SHOWN = 6;

/**
 * `fuse` renders one of them. Collapsed fuses are rendered only after the user expands them, so they read no data
 * before.
 */
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
