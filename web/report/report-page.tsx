// The page of a recorded run: the views of the dashboard at any instant that the reader chooses.
import { useMemo } from 'preact/hooks';
import { kwText } from '../../machines/values/figures.js';
import { LEGEND } from '../../sim/report/legend.js';
import type { ReportData } from '../../sim/report/report-data.js';
import { Chart } from '../location/chart.js';
import { Figure } from '../location/figure-row.js';
import { type NamedLine, PowerChart } from '../location/power-chart.js';
import { StateHead } from '../location/state-head.js';
import { type StepLine, valueAt } from '../location/step-line.js';
import { Time } from '../ui/time.js';
import { ConnectorTable } from './connector-table.js';
import { durationText, iso } from './instant-text.js';
import { ruleWords } from './reasons.js';
import { type RecordedLocation, recordedLocation, ruleAt, stateAt } from './recorded-location.js';
import { RunHead } from './run-head.js';
import { TimeBar } from './time-bar.js';
import { MarkLanes, ProfileLanes, RuleLane } from './time-lanes.js';
import { useViewpoint, type Viewpoint } from './viewpoint.js';

export function ReportPage({ data }: { readonly data: ReportData }) {
  // A comparison begins at the instant at which the runs differ.
  const viewpoint = useViewpoint(data, data.compared?.differsAtMs ?? data.startsAtMs);
  const location = useMemo(() => recordedLocation(data, viewpoint.place), [data, viewpoint.place]);
  if (location === undefined) return <p class="empty">Nothing happened in this run.</p>;
  return (
    <main class="stack location report">
      <RunHead data={data} location={location} />
      <TimeBar data={data} location={location} viewpoint={viewpoint} />
      <section class="panel stack limits" aria-label="Limits and power">
        <h2>Limits and power</h2>
        <LocationChart key={location.locationId} data={data} location={location} viewpoint={viewpoint} />
        <RuleLane location={location} viewpoint={viewpoint} endsAtMs={data.endsAtMs} />
        <VoltageChart key={`${location.locationId} voltage`} location={location} viewpoint={viewpoint} />
        <ProfileLanes location={location} viewpoint={viewpoint} />
        <MarkLanes location={location} viewpoint={viewpoint} />
      </section>
      <StateSection location={location} viewpoint={viewpoint} />
      <ConnectorTable location={location} viewpoint={viewpoint} />
      <Footer stepMs={data.stepMs} />
    </main>
  );
}

interface Props {
  readonly location: RecordedLocation;
  readonly viewpoint: Viewpoint;
}

function LocationChart({ data, location, viewpoint }: Props & { readonly data: ReportData }) {
  const recorded = useMemo(
    () => ({
      more: moreLines(location, data.compared?.title ?? ''),
      range: [0, topKw(location)] as const,
      reasonAt: (atMs: number) => {
        const rule = ruleAt(location, atMs);
        return rule === undefined ? '' : `set by ${ruleWords(rule)}`;
      },
    }),
    [location],
  );
  return (
    <PowerChart
      lines={location.lines}
      span={viewpoint.span}
      nowMs={data.endsAtMs}
      inForceNowKw={undefined}
      asOfMs={viewpoint.instant}
      onSelect={viewpoint.show}
      onChoose={viewpoint.choose}
      recorded={recorded}
    />
  );
}

function moreLines(location: RecordedLocation, beside: string): readonly NamedLine[] {
  const { sources, overKw, compared } = location;
  return [
    // The connection is the highest limit of most sites; the lines of lower limits are drawn over it.
    ...sources.filter(({ chartLine }) => chartLine === undefined).toReversed(),
    { label: 'Above the limit', tone: 'over', line: overKw, colour: 'bad', isFilled: true },
    {
      label: `Power of “${beside}”`,
      tone: 'other-power',
      line: compared?.powerKw ?? [],
      colour: 'muted',
      dash: [5, 3],
    },
    {
      label: `Limit of “${beside}”`,
      tone: 'other-limit',
      line: compared?.inForceKw ?? [],
      colour: 'limit',
      dash: [5, 3],
    },
  ];
}

/** Fits the power and limits near it: a limit far above would flatten the rest of the chart. */
function topKw({ lines, sources, compared }: RecordedLocation): number {
  const drawn = [lines.powerKw, lines.buildingKw, compared?.powerKw ?? []];
  const peakKw = Math.max(...drawn.map((line) => highest(line, Number.POSITIVE_INFINITY)));
  const nearKw = peakKw === 0 ? Number.POSITIVE_INFINITY : 2 * peakKw;
  const limits = [
    lines.inForceKw,
    lines.effectiveKw,
    lines.occupiedKw,
    ...sources.map(({ line }) => line),
    compared?.inForceKw ?? [],
  ];
  return 1.08 * Math.max(1, peakKw, ...limits.map((line) => highest(line, nearKw)));
}

function highest(line: StepLine, belowKw: number): number {
  return line.reduce(
    (most, { value }) => (value !== null && value <= belowKw ? Math.max(most, value) : most),
    0,
  );
}

const VOLTAGE_PX = 140;
const MARGIN_V = 2;
/** A dash pattern for each line distinguishes several lines. */
const DASHES: readonly (readonly number[])[] = [[], [6, 3], [2, 2]];

/** Absent without a grid. */
function VoltageChart({ location: { grid }, viewpoint }: Props) {
  const lines = useMemo(
    () =>
      grid.flatMap(({ name, highestV, lowestV }, i) => {
        const dash = DASHES[i % DASHES.length] ?? [];
        return [
          { label: `${name}, highest phase`, tone: 'highest', line: highestV, colour: 'power', dash },
          { label: `${name}, lowest phase`, tone: 'lowest', line: lowestV, colour: 'warning', dash },
        ];
      }),
    [grid],
  );
  const range = useMemo(() => rangeOf(lines.map(({ line }) => line)), [lines]);
  if (lines.length === 0) return null;
  const { span, instant } = viewpoint;
  return (
    <Chart
      label="Voltage"
      legend={lines.map(({ label, tone }) => ({ colour: tone, text: label }))}
      lines={lines}
      unit="V"
      heightPx={VOLTAGE_PX}
      span={span}
      markMs={instant}
      onSelect={viewpoint.show}
      onChoose={viewpoint.choose}
      range={range}
      readingsAt={(atMs) => lines.map(({ label, line }) => `${label} ${volts(line, atMs)}`)}
    >
      {grid
        .map(
          ({ name, highestV, lowestV }) =>
            `${name}: ${volts(lowestV, instant)} lowest, ${volts(highestV, instant)} highest phase`,
        )
        .join('. ')}
    </Chart>
  );
}

function volts(line: StepLine, atMs: number): string {
  const value = valueAt(line, atMs);
  return value === null ? '–' : `${value.toFixed(1)} V`;
}

function rangeOf(lines: readonly StepLine[]): readonly [number, number] {
  const values = lines.flatMap((line) => line.flatMap(({ value }) => value ?? []));
  const [lowest, most] = values.reduce(([a, b], value) => [Math.min(a, value), Math.max(b, value)], [1e9, 0]);
  return [Math.max(0, lowest - MARGIN_V), most + MARGIN_V];
}

function StateSection({ location, viewpoint: { instant } }: Props) {
  const state = stateAt(location, instant);
  const { lines, sources } = location;
  const { gridLimitCause: cause } = state;
  const figure = (name: string, note: string, line: StepLine) => {
    const value = valueAt(line, instant);
    return (
      value !== null && (
        <Figure key={name} name={name} note={note}>
          {kwText(value)}
        </Figure>
      )
    );
  };
  return (
    <section class="panel stack" aria-label="At the instant">
      <h2>
        At <Time at={iso(instant)} /> UTC
      </h2>
      <StateHead
        state={state}
        redAboveKw={valueAt(lines.allowedKw, instant) ?? 0}
        clusterName={cause.kind === 'clusterShare' ? cause.clusterId : ''}
      >
        {sources.map(({ label, note, line }) => figure(label, note, line))}
        {figure('Building', 'as it counts', lines.buildingKw)}
        {figure('Building and reserve', 'with power kept free for it to rise', lines.occupiedKw)}
      </StateHead>
    </section>
  );
}

function Footer({ stepMs }: { readonly stepMs: number }) {
  return (
    <footer class="small quiet">
      <p>
        Click to choose an instant, drag to zoom. Keys: ← → (with Shift further), Home, End, [ ] to the marks
        before and after, + − 0. Power and limits of connectors in steps of {durationText(stepMs / 1000)}.
        Status, reason, lease and link to the millisecond. Times are UTC, beside the instant also those of the
        site.
      </p>
      <details>
        <summary>The figures explained</summary>
        <dl>
          {LEGEND.flatMap(([name, meaning]) => [
            <dt key={name}>{name}</dt>,
            <dd key={`${name} is`}>{meaning}</dd>,
          ])}
        </dl>
      </details>
    </footer>
  );
}
