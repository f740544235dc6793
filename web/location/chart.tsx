// A chart over time as everyone gets it: legend, step lines, what holds under the pointer, and the picture in a sentence.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { EpochMs } from '../../machines/values/time.js';
import { localText, utcText } from '../ui/time.js';
import { type PlotLine, StepPlot } from './step-plot.js';
import type { Span } from './time-view.js';

export interface LegendEntry {
  /** A name of the style sheet. */
  readonly colour: string;
  readonly text: string;
}

interface Props {
  readonly label?: string;
  readonly legend: readonly LegendEntry[];
  readonly lines: readonly PlotLine[];
  /** What lies between the two lines of each is shaded: the labels of the upper and of the lower one. */
  readonly bands?: readonly (readonly [upper: string, lower: string])[];
  readonly unit: string;
  readonly heightPx: number;
  readonly span: Span;
  /** Where the line that marks an instant stands. */
  readonly markMs: EpochMs;
  readonly onSelect: (span: Span) => void;
  /** What holds at an instant, such as `power 11.0 kW`; none where nothing is known of it. */
  readonly readingsAt: (atMs: EpochMs) => readonly string[];
  /** What the picture shows, in sentences. */
  readonly children: ComponentChildren;
}

export function Chart({ label, legend, readingsAt, children, ...plot }: Props) {
  const [pointMs, setPoint] = useState<EpochMs>();
  return (
    <figure class="chart" aria-label={label}>
      <ul class="legend" aria-hidden="true">
        {legend.map(({ colour, text }) => (
          <li key={colour} class={colour}>
            {text}
          </li>
        ))}
      </ul>
      <StepPlot {...plot} onPoint={setPoint} />
      <p class="readout small quiet" aria-hidden="true">
        {pointMs === undefined
          ? 'Point at the chart to read it; drag to zoom.'
          : readout(readingsAt(pointMs), pointMs)}
      </p>
      <figcaption class="small">{children}</figcaption>
    </figure>
  );
}

function readout(readings: readonly string[], atMs: EpochMs): string {
  const at = new Date(atMs).toISOString();
  return `${localText(at, true)} (${utcText(at)}): ${readings.join(', ') || 'nothing known'}`;
}
