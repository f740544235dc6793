// The connection and the feeders of a location: what each phase carries, what is reserved on it, and which one is full.
import type { FuseLive } from '../../src/wire/operator-locations.js';
import { Badge } from '../ui/badge.js';
import { MeterBar } from '../ui/meter-bar.js';

/** More are folded away: a site may have a feeder for each row of its car park. */
const FUSES_SHOWN = 6;

export function FusesSection({ fuses }: { readonly fuses: readonly FuseLive[] }) {
  if (fuses.length === 0) return null;
  // Those that keep a connector from more, before those that do not.
  const ordered = [...fuses].sort((a, b) => Number(isFull(b)) - Number(isFull(a)));
  const folded = ordered.slice(FUSES_SHOWN);
  return (
    <section class="panel stack" aria-label="Fuses">
      <h2>Fuses</h2>
      <FuseGrid fuses={ordered.slice(0, FUSES_SHOWN)} />
      {folded.length > 0 && (
        <details>
          <summary>And {folded.length} more</summary>
          <FuseGrid fuses={folded} />
        </details>
      )}
    </section>
  );
}

function isFull({ phases }: FuseLive): boolean {
  return phases.some((phase) => phase.isFull);
}

function FuseGrid({ fuses }: { readonly fuses: readonly FuseLive[] }) {
  return (
    <div class="fuses">
      {fuses.map((fuse) => (
        <Fuse key={fuse.feeder ?? ''} fuse={fuse} />
      ))}
    </div>
  );
}

function Fuse({ fuse: { feeder, parent, phases } }: { readonly fuse: FuseLive }) {
  return (
    <table class="fuse">
      <caption>
        {feeder === null ? 'Connection' : feeder}
        {parent !== null && <span class="quiet small"> on {parent}</span>}
      </caption>
      <thead>
        <tr>
          <th scope="col">Phase</th>
          <th scope="col" class="bar">
            Used
          </th>
          <th scope="col" class="figure">
            Draws A
          </th>
          <th scope="col" class="figure">
            Reserved A
          </th>
          <th scope="col" class="figure">
            Fuse A
          </th>
        </tr>
      </thead>
      <tbody>
        {phases.map(({ phase, ratedA, reservedA, measuredA, isFull: full }) => (
          <tr key={phase}>
            <th scope="row">
              {phase} {full && <Badge tone="warning">full</Badge>}
            </th>
            <td class="bar">
              <MeterBar value={measuredA} limit={ratedA} />
            </td>
            <td class="figure">{measuredA.toFixed(1)}</td>
            <td class="figure">{reservedA.toFixed(1)}</td>
            <td class="figure">{ratedA === 0 ? 'none' : ratedA}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
