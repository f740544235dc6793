// Table of the phases of a connection or a feeder: the current of each as a bar and in figures, and the rating of the
// fuse.
import type { ComponentChildren } from 'preact';
import { MeterBar } from '../ui/meter-bar.js';

/** One phase of a fuse. */
export interface PhaseRow {
  readonly phase: string;
  /** Shown next to the name. */
  readonly badge?: ComponentChildren;
  /** Length of the bar; undefined if the current is unknown. */
  readonly usedA: number | undefined;
  /** 0 if there is no fuse; undefined if the rating is unknown. */
  readonly ratedA: number | undefined;
  /** The phase carries, or may have to carry, more than the rating. */
  readonly isOver?: boolean;
  /** In A, one for each of `FuseTable`'s columns; undefined if unknown. */
  readonly figures: readonly (number | undefined)[];
}

export function FuseTable({
  caption,
  parent,
  columns,
  rows,
}: {
  readonly caption: string;
  /** The feeder above this one; null if the connection is above it. */
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
