// A chart over time: legend, step lines, values under the pointer, and a description as text.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { EpochMs } from '../../machines/values/time.js';
import { localText, utcText } from '../ui/time.js';
import { type PlotLine, StepPlot } from './step-plot.js';
import type { Span } from './time-view.js';

export interface LegendEntry {
  /** Name of a colour in the style sheet. */
  readonly colour: string;
  readonly text: string;
}

interface Props {
  readonly label?: string;
  readonly legend: readonly LegendEntry[];
  readonly lines: readonly PlotLine[];
  /** Shaded areas between two lines, given by the labels of the upper and the lower one. */
  readonly bands?: readonly (readonly [upper: string, lower: string])[];
  readonly unit: string;
  readonly heightPx: number;
  readonly span: Span;
  /** Position of the line that marks an instant. */
  readonly markMs: EpochMs;
  /** Called with a span that the user drags over; a chart without it shows its whole span always. */
  readonly onSelect?: (span: Span) => void;
  /** Called with the instant of a click. */
  readonly onChoose?: ((atMs: EpochMs) => void) | undefined;
  /** Lowest and highest value of the axis. */
  readonly range?: readonly [lowest: number, highest: number] | undefined;
  /** Values at an instant, such as `power 11.0 kW`; empty if none is known. */
  readonly readingsAt: (atMs: EpochMs) => readonly string[];
  /** Description of the chart in sentences. */
  readonly children: ComponentChildren;
}

export function Chart({ label, legend, readingsAt, children, ...plot }: Props) {
  const [pointMs, setPoint] = useState<EpochMs>();
  return (
    <figure class="chart" aria-label={label}>
      <ul class="legend" aria-hidden="true">
        {legend.map(({ colour, text }) => (
          <li key={text} class={colour}>
            {text}
          </li>
        ))}
      </ul>
      <StepPlot {...plot} onPoint={setPoint} />
      <p class="readout small quiet" aria-hidden="true">
        {pointMs === undefined
          ? `Point at the chart to read it${plot.onSelect === undefined ? '' : '; drag to zoom'}.`
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
