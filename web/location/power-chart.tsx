// Power, effective limit and grid limit over time, as a picture and in sentences.
import { useState } from 'preact/hooks';
import type { EpochMs } from '../../machines/time.js';
import { kwText } from '../ui/figures.js';
import { isOfToday, localText, utcText } from '../ui/time.js';
import { columnsOf, kwAt, type StepLine } from './step-line.js';
import { StepPlot } from './step-plot.js';
import type { Span } from './time-view.js';
import type { ChartLines } from './use-chart-lines.js';

const HEIGHT_PX = 240;

interface Props {
  readonly lines: ChartLines;
  readonly span: Span;
  /** Nothing was drawn after it yet. */
  readonly nowMs: EpochMs;
  /** The past instant that is looked at. */
  readonly asOfMs: EpochMs | undefined;
  readonly onSelect: (span: Span) => void;
}

export function PowerChart({ lines, span, nowMs, asOfMs, onSelect }: Props) {
  const [pointMs, setPoint] = useState<EpochMs>();
  const powerKw = endedAt(lines.powerKw, nowMs);
  return (
    <figure class="power-chart">
      <ul class="legend" aria-hidden="true">
        <li class="power">Power</li>
        <li class="effective">Effective limit</li>
        <li class="grid">Grid limit</li>
      </ul>
      <StepPlot
        lines={[
          { label: 'Power', line: powerKw, colour: 'power', isFilled: true },
          { label: 'Grid limit', line: lines.gridKw, colour: 'limit' },
          // Dashed and on top: where both are one, both are seen.
          { label: 'Effective limit', line: lines.effectiveKw, colour: 'effective', dash: [6, 4] },
        ]}
        span={span}
        heightPx={HEIGHT_PX}
        markMs={asOfMs ?? nowMs}
        onSelect={onSelect}
        onPoint={setPoint}
      />
      <p class="readout small quiet" aria-hidden="true">
        {pointMs === undefined
          ? 'Point at the chart to read it; drag to zoom.'
          : readout(lines, powerKw, pointMs)}
      </p>
      <figcaption class="small">{summary(lines, powerKw, span, nowMs)}</figcaption>
    </figure>
  );
}

/** The line until `nowMs`, still holding what was told last. */
function endedAt(line: StepLine, nowMs: EpochMs): StepLine {
  return [...line.filter(({ atMs }) => atMs <= nowMs), { atMs: nowMs + 1, kw: null }];
}

function readout(lines: ChartLines, powerKw: StepLine, atMs: EpochMs): string {
  const at = new Date(atMs).toISOString();
  const words = [
    ['power', kwAt(powerKw, atMs)] as const,
    ['effective limit', kwAt(lines.effectiveKw, atMs)] as const,
    ['grid limit', kwAt(lines.gridKw, atMs)] as const,
  ].flatMap(([name, kw]) => (kw === null ? [] : [`${name} ${kwText(kw)}`]));
  return `${localText(at, true)} (${utcText(at)}): ${words.join(', ') || 'nothing known'}`;
}

/** What the picture shows, in sentences. */
function summary(lines: ChartLines, powerKw: StepLine, { fromMs, toMs }: Span, nowMs: EpochMs): string {
  const iso = (atMs: EpochMs) => new Date(atMs).toISOString();
  // A day beside one of two instants alone would be read as that of both.
  const isToday = [fromMs, toMs].every((atMs) => isOfToday(iso(atMs)));
  const text = (atMs: EpochMs) => localText(iso(atMs), isToday);
  const [, drawn = []] = columnsOf([powerKw], fromMs, toMs);
  const known = drawn.filter((kw) => kw !== null);
  const power =
    known.length === 0
      ? 'no power was measured'
      : `between ${kwText(Math.min(...known))} and ${kwText(Math.max(...known))} were drawn`;
  const nowKw = kwAt(lines.gridKw, nowMs);
  const next = lines.gridKw.find(({ atMs, kw }) => atMs > nowMs && kw !== null && kw !== nowKw);
  return [
    `From ${text(fromMs)} to ${text(toMs)} ${power}.`,
    nowKw === null ? '' : `The grid limit is ${kwText(nowKw)} now.`,
    next?.kw == null
      ? 'No change of it is known.'
      : `It becomes ${kwText(next.kw)} at ${localText(iso(next.atMs), true)}.`,
  ].join(' ');
}
