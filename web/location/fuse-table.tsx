// The phases of the connection or of a feeder as a table: what each carries as a bar and in figures, beside what the fuse is rated for.
import type { ComponentChildren } from 'preact';
import { MeterBar } from '../ui/meter-bar.js';

/** One phase of a fuse. */
export interface PhaseRow {
  readonly phase: string;
  /** What stands beside its name. */
  readonly badge?: ComponentChildren;
  /** As a bar; undefined where it is not known. */
  readonly usedA: number | undefined;
  /** 0 where there is no fuse; undefined where none is known. */
  readonly ratedA: number | undefined;
  /** It carries, or may have to carry, more than it is rated for. */
  readonly isOver?: boolean;
  /** In A, one for each of `FuseTable`'s columns; undefined where it is not known. */
  readonly figures: readonly (number | undefined)[];
}

export function FuseTable({
  caption,
  parent,
  columns,
  rows,
}: {
  readonly caption: string;
  /** The feeder that it hangs on; null where that is the connection. */
  readonly parent: string | null;
  /** Headers of the figures between the bar and the rating. */
  readonly columns: readonly string[];
  readonly rows: readonly PhaseRow[];
}) {
  return (
    <table class="fuse">
      <caption>
        {caption}
        {parent !== null && <span class="quiet small"> on {parent}</span>}
      </caption>
      <thead>
        <tr>
          <th scope="col">Phase</th>
          <th scope="col" class="bar">
            Used
          </th>
          {[...columns, 'Fuse A'].map((header) => (
            <th key={header} scope="col" class="figure">
              {header}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ phase, badge, usedA, ratedA, isOver = false, figures }) => (
          <tr key={phase} class={isOver ? 'over' : undefined}>
            <th scope="row">
              {phase} {badge}
            </th>
            <td class="bar">
              {usedA !== undefined && ratedA !== undefined && (
                <MeterBar value={usedA} limit={ratedA} isOver={isOver || undefined} />
              )}
            </td>
            {figures.map((figureA, i) => (
              <td key={columns[i]} class="figure">
                {figureA === undefined ? '–' : figureA.toFixed(1)}
              </td>
            ))}
            <td class="figure">{ratingText(ratedA)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function ratingText(ratedA: number | undefined): string {
  if (ratedA === undefined) return '–';
  return ratedA === 0 ? 'none' : String(ratedA);
}
