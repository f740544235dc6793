// What the chargers drew on each phase of the grid over time, as a picture and in a sentence.
import { useState } from 'preact/hooks';
import { GRID_PHASES } from '../../machines/power/fuses.js';
import type { EpochMs } from '../../machines/values/time.js';
import { localText, utcText } from '../ui/time.js';
import { columnsOf, type StepLine, valueAt } from './step-line.js';
import { StepPlot } from './step-plot.js';
import type { Span } from './time-view.js';

const HEIGHT_PX = 160;
/** Lines of one phase each lie on each other where all are loaded alike. */
const DASHES = [undefined, [6, 4], [2, 3]] as const;

interface Props {
  /** A, highest of each roll-up; none where no fuse is known. */
  readonly phasesA: readonly StepLine[];
  readonly span: Span;
  readonly nowMs: EpochMs;
  readonly asOfMs: EpochMs | undefined;
  readonly onSelect: (span: Span) => void;
}

export function PhaseChart({ phasesA, span, nowMs, asOfMs, onSelect }: Props) {
  const [pointMs, setPoint] = useState<EpochMs>();
  if (phasesA.length === 0) return null;
  const named = GRID_PHASES.map((phase, i) => ({ phase, line: phasesA[i] ?? [] }));
  return (
    <figure class="power-chart" aria-label="Amperes on each phase">
      <ul class="legend" aria-hidden="true">
        {named.map(({ phase }) => (
          <li key={phase} class={phase.toLowerCase()}>
            Highest on {phase}
          </li>
        ))}
      </ul>
      <StepPlot
        lines={named.map(({ phase, line }, i) => ({
          label: phase,
          line,
          colour: phase.toLowerCase(),
          ...(DASHES[i] === undefined ? {} : { dash: DASHES[i] }),
        }))}
        unit="A"
        span={span}
        heightPx={HEIGHT_PX}
        markMs={asOfMs ?? nowMs}
        onSelect={onSelect}
        onPoint={setPoint}
      />
      <p class="readout small quiet" aria-hidden="true">
        {pointMs === undefined
          ? 'Point at the chart to read it.'
          : readout(
              named.map(({ phase, line }) => [phase, valueAt(line, pointMs)]),
              pointMs,
            )}
      </p>
      <figcaption class="small">
        {summary(named.map(({ phase, line }) => [phase, highestOf(line, span)]))}
      </figcaption>
    </figure>
  );
}

type Named = readonly (readonly [phase: string, valueA: number | null])[];

function asWords(named: Named): string {
  return named
    .flatMap(([phase, valueA]) => (valueA === null ? [] : [`${valueA.toFixed(1)} A on ${phase}`]))
    .join(', ');
}

function readout(named: Named, atMs: EpochMs): string {
  const at = new Date(atMs).toISOString();
  return `${localText(at, true)} (${utcText(at)}): ${asWords(named) || 'nothing known'}`;
}

function summary(named: Named): string {
  const words = asWords(named);
  return words === '' ? 'No currents are known of this time.' : `The chargers drew at most ${words}.`;
}

function highestOf(line: StepLine, { fromMs, toMs }: Span): number | null {
  const [, values = []] = columnsOf([line], fromMs, toMs);
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : Math.max(...known);
}
