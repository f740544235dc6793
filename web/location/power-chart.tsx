// Power, a building beside it, effective limit and limit in force over time, as a picture and in sentences.
import { useState } from 'preact/hooks';
import type { EpochMs } from '../../machines/values/time.js';
import { kwText } from '../ui/figures.js';
import { isOfToday, localText, utcText } from '../ui/time.js';
import { columnsOf, type StepLine, valueAt } from './step-line.js';
import { StepPlot } from './step-plot.js';
import type { Span } from './time-view.js';
import type { ChartLines } from './use-chart-lines.js';

const HEIGHT_PX = 240;

interface Props {
  readonly lines: ChartLines;
  readonly span: Span;
  /** Power is known until then. */
  readonly nowMs: EpochMs;
  /** The past instant that is looked at. */
  readonly asOfMs: EpochMs | undefined;
  readonly onSelect: (span: Span) => void;
}

export function PowerChart({ lines, span, nowMs, asOfMs, onSelect }: Props) {
  const [pointMs, setPoint] = useState<EpochMs>();
  const past = {
    powerKw: endedAt(lines.powerKw, nowMs),
    buildingKw: endedAt(lines.buildingKw, nowMs),
    occupiedKw: endedAt(lines.occupiedKw, nowMs),
  };
  const { powerKw, buildingKw, occupiedKw } = past;
  return (
    <figure class="power-chart">
      <ul class="legend" aria-hidden="true">
        <li class="power">Power</li>
        <li class="effective">Effective limit</li>
        <li class="in-force">Limit in force</li>
        {isKnown(buildingKw, span) && (
          <>
            <li class="building">Building</li>
            <li class="occupied">Building and reserve</li>
          </>
        )}
        {hasFollowing(lines, span) && (
          <li class="following">Chargers may still be following a lower limit</li>
        )}
      </ul>
      <StepPlot
        lines={[
          { label: 'Power', line: powerKw, colour: 'power', isFilled: true },
          { label: 'Building', line: buildingKw, colour: 'building' },
          { label: 'Building and reserve', line: occupiedKw, colour: 'building', dash: [2, 3] },
          { label: 'Allowed', line: endedAt(lines.allowedKw, nowMs), colour: 'limit', isHidden: true },
          { label: 'Limit in force', line: lines.inForceKw, colour: 'limit' },
          // Dashed and on top, so that both lines can be seen where they coincide.
          { label: 'Effective limit', line: lines.effectiveKw, colour: 'effective', dash: [6, 4] },
        ]}
        band={['Allowed', 'Limit in force']}
        unit="kW"
        span={span}
        heightPx={HEIGHT_PX}
        markMs={asOfMs ?? nowMs}
        onSelect={onSelect}
        onPoint={setPoint}
      />
      <p class="readout small quiet" aria-hidden="true">
        {pointMs === undefined
          ? 'Point at the chart to read it; drag to zoom.'
          : readout({ ...lines, ...past }, pointMs)}
      </p>
      <figcaption class="small">{summary({ ...lines, ...past }, span, nowMs)}</figcaption>
    </figure>
  );
}

function isKnown(line: StepLine, { fromMs, toMs }: Span): boolean {
  const [, values = []] = columnsOf([line], fromMs, toMs);
  return values.some((value) => value !== null);
}

/** Whether any of the band between the limit in force and what is allowed can be seen. */
function hasFollowing({ allowedKw, inForceKw }: ChartLines, { fromMs, toMs }: Span): boolean {
  const [, allowed = [], inForce = []] = columnsOf([allowedKw, inForceKw], fromMs, toMs);
  return allowed.some((kw, i) => kw !== null && kw > (inForce[i] ?? kw));
}

/** The line until `nowMs`, still holding what was told last. */
function endedAt(line: StepLine, nowMs: EpochMs): StepLine {
  return [...line.filter(({ atMs }) => atMs <= nowMs), { atMs: nowMs + 1, value: null }];
}

function readout(lines: ChartLines, atMs: EpochMs): string {
  const at = iso(atMs);
  const words = [
    ['power', valueAt(lines.powerKw, atMs)] as const,
    ['effective limit', valueAt(lines.effectiveKw, atMs)] as const,
    ['limit in force', valueAt(lines.inForceKw, atMs)] as const,
    ['building', valueAt(lines.buildingKw, atMs)] as const,
    ['building and reserve', valueAt(lines.occupiedKw, atMs)] as const,
  ].flatMap(([name, kw]) => (kw === null ? [] : [`${name} ${kwText(kw)}`]));
  return `${localText(at, true)} (${utcText(at)}): ${words.join(', ') || 'nothing known'}`;
}

/** What the picture shows, in sentences: what happened, what is in force now, and what is planned. */
function summary(lines: ChartLines, { fromMs, toMs }: Span, nowMs: EpochMs): string {
  const past = { fromMs, toMs: Math.min(toMs, nowMs) };
  const nowKw = valueAt(lines.inForceKw, nowMs);
  return [
    ...(fromMs < nowMs ? [pastSentence(lines.powerKw, past), ...buildingSentences(lines, past)] : []),
    ...(nowKw === null ? [] : [`The limit in force is ${kwText(nowKw)} now.`]),
    plannedSentence(lines.inForceKw, nowKw, nowMs),
  ].join(' ');
}

function pastSentence(powerKw: StepLine, { fromMs, toMs }: Span): string {
  const [instants, drawn = []] = columnsOf([powerKw], fromMs, toMs);
  const span = spanText({ fromMs, toMs });
  const known = drawn.filter((kw) => kw !== null);
  if (known.length === 0) return `From ${span} no power was measured.`;
  const [least, most] = [kwText(Math.min(...known)), kwText(Math.max(...known))];
  const was = least === most ? most : `between ${least} and ${most}`;
  const knownFromMs = instants[drawn.findIndex((kw) => kw !== null)] ?? fromMs;
  const knownToMs = instants[drawn.findLastIndex((kw) => kw !== null) + 1] ?? toMs;
  // A location may be new, or was not heard of for a while: nothing is said of the time before and after.
  const isAllKnown = knownFromMs === fromMs && knownToMs === toMs;
  const knownText = isAllKnown
    ? ''
    : `, as far as it is known: from ${spanText({ fromMs: knownFromMs, toMs: knownToMs })}`;
  return `From ${span} the power was ${was}${knownText}.`;
}

function buildingSentences({ buildingKw, occupiedKw }: ChartLines, { fromMs, toMs }: Span): string[] {
  const [, building = [], occupied = []] = columnsOf([buildingKw, occupiedKw], fromMs, toMs);
  const known = building.filter((kw) => kw !== null);
  if (known.length === 0) return [];
  const mostOccupied = Math.max(...occupied.filter((kw) => kw !== null));
  const withReserve = `${kwText(mostOccupied)} with what was kept free for it to rise`;
  return [`The building took at most ${kwText(Math.max(...known))}, and ${withReserve}.`];
}

function spanText({ fromMs, toMs }: Span): string {
  // A day beside only one of the two instants would be taken for the day of both.
  const isToday = [fromMs, toMs].every((atMs) => isOfToday(iso(atMs)));
  return `${localText(iso(fromMs), isToday)} to ${localText(iso(toMs), isToday)}`;
}

function plannedSentence(inForceKw: StepLine, nowKw: number | null, nowMs: EpochMs): string {
  const next = inForceKw.find(({ atMs, value: kw }) => atMs > nowMs && kw !== null && kw !== nowKw);
  if (next?.value != null) return `Planned: ${kwText(next.value)} from ${localText(iso(next.atMs), true)}.`;
  const end = inForceKw.find(({ atMs, value: kw }) => atMs > nowMs && kw === null);
  return `No change is planned${end === undefined ? '' : ` until ${localText(iso(end.atMs), true)}`}.`;
}

function iso(atMs: EpochMs): string {
  return new Date(atMs).toISOString();
}
