// Past currents on each phase of the connection and of each feeder, in the chosen minute.
import { GRID_PHASES } from '../../machines/power/fuses.js';
import type { FuseLive } from '../../src/features/live/contract.js';
import type { LocationPower } from '../../src/features/power-history/contract.js';
import { path } from '../api/client.js';
import { useResource } from '../api/resource.js';
import { ErrorNotice } from '../ui/notice.js';
import { FuseGrid } from './fuse-grid.js';
import { FuseTable } from './fuse-table.js';
import { minuteQuery, type PastState } from './use-past-state.js';

type PastPhases = LocationPower['points'][number]['phases'];

type Wired = Pick<FuseLive, 'feeder' | 'parent' | 'phases'>;

/** The current of all chargers, used if the rating of the connection is unknown. */
const ALL_CHARGERS: Wired = { feeder: null, parent: null, phases: [] };

interface Props {
  readonly locationId: string;
  /** The current fuses; former ratings and wirings are not stored. */
  readonly fuses: readonly FuseLive[];
  readonly past: PastState;
}

export function PastFuses({ locationId, fuses, past }: Props) {
  const phases = past.power?.phases ?? [];
  if (fuses.length === 0 && phases.length === 0) return null;
  const hasConnection = fuses.some(({ feeder }) => feeder === null);
  return (
    <section class="panel stack past" aria-label="Fuses as they were">
      <h2>Fuses as they were</h2>
      <FuseGrid<Wired>
        fuses={hasConnection ? fuses : [ALL_CHARGERS, ...fuses]}
        fuse={(fuse) =>
          fuse.feeder === null ? (
            <PastFuse
              key=""
              caption={hasConnection ? 'Connection' : 'All chargers'}
              fuse={fuse}
              phases={phases}
            />
          ) : (
            <PastFeeder
              key={fuse.feeder}
              locationId={locationId}
              feeder={fuse.feeder}
              fuse={fuse}
              atMs={past.atMs}
            />
          )
        }
      />
      <p class="quiet small">
        The chargers’ current in that minute, the highest as a bar, beside the present fuse. The current of a
        single connector, and entitlements, are not kept.
      </p>
    </section>
  );
}

interface FuseProps {
  readonly fuse: Wired;
}

function PastFeeder({
  locationId,
  feeder,
  fuse,
  atMs,
}: FuseProps & { readonly locationId: string; readonly feeder: string; readonly atMs: number }) {
  const { value, error } = useResource(
    async (client, signal) => {
      const query = `${minuteQuery(atMs)}&${path`feeder=${feeder}`}`;
      const { points } = await client.get<LocationPower>(
        `${path`/locations/${locationId}/power`}?${query}`,
        signal,
      );
      return { atMs, phases: points[0]?.phases ?? [] };
    },
    [locationId, feeder, atMs],
  );
  if (error !== undefined) return <ErrorNotice error={error} />;
  // During a read, currents of another instant must not appear under this one.
  return <PastFuse caption={feeder} fuse={fuse} phases={value?.atMs === atMs ? value.phases : []} />;
}

function PastFuse({
  caption,
  fuse,
  phases,
}: FuseProps & {
  readonly caption: string;
  /** Empty if there are no data for the minute. */
  readonly phases: PastPhases;
}) {
  return (
    <FuseTable
      caption={caption}
      parent={fuse.parent}
      columns={['Mean A', 'Highest A']}
      rows={GRID_PHASES.map((phase) => {
        const drawn = phases.find((of) => of.phase === phase);
        const ratedA = fuse.phases.find((of) => of.phase === phase)?.ratedA;
        return { phase, usedA: drawn?.maxA, ratedA, figures: [drawn?.meanA, drawn?.maxA] };
      })}
    />
  );
}
