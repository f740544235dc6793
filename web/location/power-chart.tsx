// Chart of power, building load, grid operator's limit, effective limit and limit in force over time, with sentences.

import { useMemo } from 'preact/hooks';
import { kwText } from '../../machines/values/figures.js';
import type { EpochMs } from '../../machines/values/time.js';
import { isOfToday, localText } from '../ui/time.js';
import { Chart, type LegendEntry } from './chart.js';
import { columnsOf, type StepLine, valueAt } from './step-line.js';
import type { PlotLine } from './step-plot.js';
import type { Span } from './time-view.js';
import type { ChartLines } from './use-chart-lines.js';

const HEIGHT_PX = 240;

interface Props {
  readonly lines: ChartLines;
  readonly span: Span;
  /** Power is known until this instant. */
  readonly nowMs: EpochMs;
  /** The current limit in force, kW, equal to the figure above the chart; undefined until it is read. */
  readonly inForceNowKw: number | undefined;
  /** The chosen past instant. */
  readonly asOfMs: EpochMs | undefined;
  readonly onSelect: (span: Span) => void;
  /** Called with the instant of a click. */
  readonly onChoose?: (atMs: EpochMs) => void;
  /** Lines of a recorded run; their number must not change. A running service has a plan instead. */
  readonly recorded?: {
    readonly more: readonly NamedLine[];
    readonly range: readonly [lowest: number, highest: number];
    /** Reason of the limit in force, as a sentence. */
    readonly reasonAt: (atMs: EpochMs) => string;
  };
}

/** A line with its name in the legend. */
export interface NamedLine extends PlotLine {
  /** Class of the legend. */
  readonly tone: string;
}

export function PowerChart(props: Props) {
  const { lines, span, nowMs, inForceNowKw, asOfMs, onSelect, onChoose, recorded } = props;
  const shown = useMemo(
    (): ChartLines => ({
      ...lines,
      powerKw: endedAt(lines.powerKw, nowMs),
      buildingKw: endedAt(lines.buildingKw, nowMs),
      occupiedKw: endedAt(lines.occupiedKw, nowMs),
      allowedKw: endedAt(lines.allowedKw, nowMs),
      // The end of the operator's limit is unknown.
      operatorKw: endedAt(lines.operatorKw, nowMs),
    }),
    [lines, nowMs],
  );
  const more = recorded?.more ?? [];
  const words = useMemo(
    () => ({
      legend: [...legendOf(shown, span), ...moreLegendOf(more, span)],
      summary: summary(shown, span, nowMs, inForceNowKw, recorded === undefined),
    }),
    [shown, more, span.fromMs, span.toMs, inForceNowKw],
  );
  return (
    <Chart
      legend={words.legend}
      lines={[
        { label: 'Power', line: shown.powerKw, colour: 'power', isFilled: true },
        { label: 'Building', line: shown.buildingKw, colour: 'building' },
        { label: 'Building and reserve', line: shown.occupiedKw, colour: 'building', dash: [2, 3] },
        { label: 'Allowed', line: shown.allowedKw, colour: 'limit', isHidden: true },
        { label: 'Lowest', line: shown.lowestKw, colour: 'limit', isHidden: true },
        { label: 'Limit in force', line: shown.inForceKw, colour: 'limit' },
        // Dashed lines are drawn last, so that all lines are visible if they coincide.
        { label: 'Grid operator', line: shown.operatorKw, colour: 'operator', dash: [10, 8] },
        { label: 'Effective limit', line: shown.effectiveKw, colour: 'effective', dash: [6, 4] },
        ...more,
      ]}
      bands={[
        ['Allowed', 'Limit in force'],
        ['Limit in force', 'Lowest'],
      ]}
      unit="kW"
      heightPx={HEIGHT_PX}
      span={span}
      markMs={asOfMs ?? nowMs}
      onSelect={onSelect}
      onChoose={onChoose}
      range={recorded?.range}
      readingsAt={(atMs) => [
        ...readingsAt(shown, atMs),
        ...more.flatMap(({ label, line }) => readingOf(label.toLowerCase(), valueAt(line, atMs))),
        ...(recorded === undefined ? [] : [recorded.reasonAt(atMs)]),
      ]}
    >
      {words.summary}
    </Chart>
  );
}

function legendOf(lines: ChartLines, span: Span): LegendEntry[] {
  return [
    { colour: 'power', text: 'Power' },
    { colour: 'effective', text: 'Effective limit' },
    { colour: 'in-force', text: 'Limit in force' },
    ...(isKnown(lines.buildingKw, span)
      ? [
          { colour: 'building', text: 'Building' },
          { colour: 'occupied', text: 'Building and reserve' },
        ]
      : []),
    ...(isKnown(lines.operatorKw, span) ? [{ colour: 'operator', text: 'Grid operator' }] : []),
    ...(hasFollowing(lines, span)
      ? [{ colour: 'following', text: 'The limit just changed: power here is no violation' }]
      : []),
    ...(isKnown(lines.lowestKw, span)
      ? [{ colour: 'varied', text: 'The limit varied: its mean, down to its lowest' }]
      : []),
  ];
}

function moreLegendOf(more: readonly NamedLine[], span: Span): LegendEntry[] {
  return more
    .filter(({ line }) => isKnown(line, span))
    .map(({ label, tone }) => ({ colour: tone, text: label }));
}

function readingOf(name: string, value: number | null): string[] {
  return value === null ? [] : [`${name} ${kwText(value)}`];
}

function isKnown(line: StepLine, { fromMs, toMs }: Span): boolean {
  const [, values = []] = columnsOf([line], fromMs, toMs);
  return values.some((value) => value !== null);
}

/** True if the band between the limit in force and the allowed power is visible. */
function hasFollowing({ allowedKw, inForceKw }: ChartLines, { fromMs, toMs }: Span): boolean {
  const [, allowed = [], inForce = []] = columnsOf([allowedKw, inForceKw], fromMs, toMs);
  return allowed.some((kw, i) => kw !== null && kw > (inForce[i] ?? kw));
}

/** The line until `nowMs`; the last value extends to `nowMs`. */
function endedAt(line: StepLine, nowMs: EpochMs): StepLine {
  return [...line.filter(({ atMs }) => atMs <= nowMs), { atMs: nowMs + 1, value: null }];
}

function readingsAt(lines: ChartLines, atMs: EpochMs): string[] {
  return [
    ['power', lines.powerKw] as const,
    ['effective limit', lines.effectiveKw] as const,
    ['limit in force', lines.inForceKw] as const,
    ['grid operator', lines.operatorKw] as const,
    ['building', lines.buildingKw] as const,
    ['building and reserve', lines.occupiedKw] as const,
  ].flatMap(([name, line]) => {
    const value = valueAt(line, atMs);
    if (value === null) return [];
    const lowestKw = name === 'limit in force' ? valueAt(lines.lowestKw, atMs) : null;
    return [
      `${name} ${kwText(value)}${lowestKw === null ? '' : ` on average, ${kwText(lowestKw)} at the lowest`}`,
    ];
  });
}

/** Description of the chart in sentences: past, current limit in force, plan. */
function summary(
  lines: ChartLines,
  { fromMs, toMs }: Span,
  nowMs: EpochMs,
  nowKw: number | undefined,
  hasPlan: boolean,
): string {
  const past = { fromMs, toMs: Math.min(toMs, nowMs) };
  return [
    ...(fromMs < nowMs
      ? [
          pastSentence(lines.powerKw, past),
          ...buildingSentences(lines, past),
          ...operatorSentences(lines, past),
        ]
      : []),
    ...(nowKw === undefined ? [] : [`The limit in force is ${kwText(nowKw)} now.`]),
    ...(hasPlan ? [plannedSentence(lines.inForceKw, nowKw, nowMs)] : []),
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
  // A location may be new, or may have had no connection for a while; the sentence covers only the known time.
  const isAllKnown = knownFromMs === fromMs && knownToMs === toMs;
  const knownText = isAllKnown
    ? ''
    : `, as far as it is recorded: from ${spanText({ fromMs: knownFromMs, toMs: knownToMs })}`;
  return `From ${span} the power was ${was}${knownText}.`;
}

function buildingSentences({ buildingKw, occupiedKw }: ChartLines, { fromMs, toMs }: Span): string[] {
  const [, building = [], occupied = []] = columnsOf([buildingKw, occupiedKw], fromMs, toMs);
  const known = building.filter((kw) => kw !== null);
  if (known.length === 0) return [];
  const mostOccupied = Math.max(...occupied.filter((kw) => kw !== null));
  const withReserve = `${kwText(mostOccupied)} with its reserve`;
  return [`The building took at most ${kwText(Math.max(...known))}, and ${withReserve}.`];
}

function operatorSentences({ operatorKw }: ChartLines, { fromMs, toMs }: Span): string[] {
  const [, allowed = []] = columnsOf([operatorKw], fromMs, toMs);
  const known = allowed.filter((kw) => kw !== null);
  if (known.length === 0) return [];
  const [least, most] = [kwText(Math.min(...known)), kwText(Math.max(...known))];
  const range = least === most ? most : `between ${least} and ${most}`;
  return [`The grid operator allowed ${range} while it limited the location.`];
}

function spanText({ fromMs, toMs }: Span): string {
  // If only one instant showed its day, a reader would apply this day to both.
  const isToday = [fromMs, toMs].every((atMs) => isOfToday(iso(atMs)));
  return `${localText(iso(fromMs), isToday)} to ${localText(iso(toMs), isToday)}`;
}

function plannedSentence(inForceKw: StepLine, nowKw: number | undefined, nowMs: EpochMs): string {
  const next = inForceKw.find(({ atMs, value: kw }) => atMs > nowMs && kw !== null && kw !== nowKw);
  if (next?.value != null) return `Planned: ${kwText(next.value)} from ${localText(iso(next.atMs), true)}.`;
  const end = inForceKw.find(({ atMs, value: kw }) => atMs > nowMs && kw === null);
  return `No change is planned${end === undefined ? '' : ` until ${localText(iso(end.atMs), true)}`}.`;
}

function iso(atMs: EpochMs): string {
  return new Date(atMs).toISOString();
}
