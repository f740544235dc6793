// The connection and the feeders of a location: what each phase carries, what is reserved on it, and which one is full.
import type { FuseLive } from '../../src/wire/operator-locations.js';
import { Badge } from '../ui/badge.js';
import { FuseGrid } from './fuse-grid.js';
import { FuseTable } from './fuse-table.js';

export function FusesSection({ fuses }: { readonly fuses: readonly FuseLive[] }) {
  if (fuses.length === 0) return null;
  // Those that keep a connector from more, before those that do not.
  const ordered = [...fuses].sort((a, b) => Number(isFull(b)) - Number(isFull(a)));
  return (
    <section class="panel stack" aria-label="Fuses">
      <h2>Fuses</h2>
      <FuseGrid fuses={ordered} fuse={(fuse) => <Fuse key={fuse.feeder ?? ''} fuse={fuse} />} />
    </section>
  );
}

function isFull({ phases }: FuseLive): boolean {
  return phases.some((phase) => phase.isFull);
}

function Fuse({ fuse: { feeder, parent, phases } }: { readonly fuse: FuseLive }) {
  return (
    <FuseTable
      caption={feeder ?? 'Connection'}
      parent={parent}
      columns={['Draws A', 'Reserved A']}
      rows={phases.map(({ phase, ratedA, reservedA, measuredA, isFull: full }) => ({
        phase,
        badge: full && <Badge tone="warning">full</Badge>,
        usedA: measuredA,
        ratedA,
        figures: [measuredA, reservedA],
      }))}
    />
  );
}
