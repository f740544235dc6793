// The connection and the feeders of a location: the current and the reserved current of each phase, and full phases.
import type { FuseLive } from '../../src/wire/operator-locations.js';
import { Badge } from '../ui/badge.js';
import { FuseGrid } from './fuse-grid.js';
import { FuseTable } from './fuse-table.js';

export function FusesSection({ fuses }: { readonly fuses: readonly FuseLive[] }) {
  if (fuses.length === 0) return null;
  const ordered = [...fuses].sort((a, b) => urgencyOf(b) - urgencyOf(a));
  return (
    <section class="panel stack" aria-label="Fuses">
      <h2>Fuses</h2>
      <FuseGrid fuses={ordered} fuse={(fuse) => <Fuse key={fuse.feeder ?? ''} fuse={fuse} />} />
    </section>
  );
}

type PhaseLive = FuseLive['phases'][number];

/** A difference below a tenth of an ampere comes from rounding. */
function isOverbooked({ reservedA, ratedA }: PhaseLive): boolean {
  return reservedA > ratedA + 0.05;
}

/** Overbooked fuses come first, then fuses that keep a connector from a higher limit. */
function urgencyOf({ phases }: FuseLive): number {
  if (phases.some(isOverbooked)) return 2;
  return phases.some(({ isFull }) => isFull) ? 1 : 0;
}

function PhaseBadge({ phase }: { readonly phase: PhaseLive }) {
  if (isOverbooked(phase)) return <Badge tone="bad">overbooked</Badge>;
  return phase.isFull ? <Badge tone="warning">full</Badge> : null;
}

function Fuse({ fuse: { feeder, parent, phases } }: { readonly fuse: FuseLive }) {
  return (
    <FuseTable
      caption={feeder ?? 'Connection'}
      parent={parent}
      columns={['Draws A', 'Reserved A']}
      rows={phases.map((each) => ({
        phase: each.phase,
        badge: <PhaseBadge phase={each} />,
        usedA: each.measuredA,
        ratedA: each.ratedA,
        isOver: isOverbooked(each),
        figures: [each.measuredA, each.reservedA],
      }))}
    />
  );
}
