// Head of a report: the scenario, the outcome of its expectations and invariants, figures, and a run beside it.
import { useMemo } from 'preact/hooks';
import { counted } from '../../machines/values/counted.js';
import { kwText } from '../../machines/values/figures.js';
import { comparedLocations } from '../../sim/report/compared-figures.js';
import type { ReportData } from '../../sim/report/report-data.js';
import type { LocationSummary, Summary } from '../../sim/report/summary.js';
import { Figure, FigureRow } from '../location/figure-row.js';
import { durationText, iso } from './instant-text.js';
import type { RecordedLocation } from './recorded-location.js';

const SHOWN_UNMET = 10;

export function RunHead({
  data,
  location: { summary, locationId },
}: {
  readonly data: ReportData;
  readonly location: RecordedLocation;
}) {
  const { title, unmet, compared, marksLeftOut, hash } = data;
  const run = [
    `${iso(data.startsAtMs)} to ${iso(data.endsAtMs)}`,
    `seed ${data.seed}`,
    `commit ${data.commit.slice(0, 12)}`,
    `trace ${hash === '' ? 'unfinished' : hash.slice(0, 12)}`,
    `${data.summary.events.toLocaleString('en')} events`,
  ];
  const leftOut = marksLeftOut === 0 ? '' : ` ${marksLeftOut.toLocaleString('en')} marks are left out.`;
  return (
    <header>
      <h1>{title}</h1>
      <Verdict isHeld={data.summary.violations === 0}>
        {verdictOf(data.summary)}
        {leftOut}
      </Verdict>
      {unmet.slice(0, SHOWN_UNMET).map((words) => (
        <Verdict key={words} isHeld={false}>
          Not as expected: {words}.
        </Verdict>
      ))}
      {unmet.length > SHOWN_UNMET && <Verdict isHeld={false}>And {unmet.length - SHOWN_UNMET} more.</Verdict>}
      <p class="small quiet" title={`trace ${hash}`}>
        {run.join(' · ')}
      </p>
      {summary !== undefined && (
        <section class="panel" aria-label="Figures of the run">
          <FigureRow>{figuresOf(summary)}</FigureRow>
        </section>
      )}
      {compared !== undefined && <Comparison data={data} compared={compared} locationId={locationId} />}
    </header>
  );
}

function Verdict({
  isHeld,
  children,
}: {
  readonly isHeld: boolean;
  readonly children: preact.ComponentChildren;
}) {
  return <p class={`verdict ${isHeld ? 'held' : 'broken'}`}>{children}</p>;
}

function verdictOf({ violations, firstViolation: first }: Summary): string {
  if (violations === 0) return 'Every invariant held.';
  const words = `${counted(violations, 'violation')}.`;
  if (first === undefined) return words;
  return `${words} The first: ${first.invariant} ${first.target}, ${iso(first.atMs)}: ${first.detail}.`;
}

function figuresOf(summary: LocationSummary) {
  const { limitAtPeakW, highestShare, requestedWh, deliveredWh, startsPerSession, stopsPerSession } = summary;
  const of = limitAtPeakW === undefined ? '' : `of ${kwText(limitAtPeakW / 1000)}, `;
  const [starts, stops] = [startsPerSession, stopsPerSession].map((each) => each?.toFixed(2) ?? '–');
  return (
    <>
      <Figure name="Peak" note={`${of}at most ${percent(highestShare)} of the allowed power`}>
        {kwText(summary.peakW / 1000)}
      </Figure>
      <Figure
        name="Energy delivered"
        note={`${percent(requestedWh === 0 ? undefined : deliveredWh / requestedWh)} of ${kwh(requestedWh)}`}
      >
        {kwh(deliveredWh)}
      </Figure>
      <Figure name="Utilisation" note="of the limit in force">
        {percent(summary.utilisation)}
      </Figure>
      <Figure name="Overshoot" note="power above the allowed power, times its duration">
        {summary.overshootKws.toFixed(1)} kWs
      </Figure>
      <Figure name="Sessions" note={`${starts} starts, ${stops} stops each`}>
        {summary.sessions}
      </Figure>
      <Figure name="Fairness" note="Jain’s index over shares of requests">
        {summary.fairness?.toFixed(3) ?? '–'}
      </Figure>
      <Figure name="Limit changes" note="while a car was there">
        {summary.limitChanges.toLocaleString('en')}
      </Figure>
      <Figure name="Locks throttled" note="as a last resort">
        {durationText(summary.lockedThrottledS)}
      </Figure>
      <Figure name="Violations" note="at this location">
        {summary.violations.toLocaleString('en')}
      </Figure>
    </>
  );
}

/** Figures of both runs for the shown location. */
function Comparison({
  data: { summary, title },
  compared,
  locationId,
}: {
  readonly data: ReportData;
  readonly compared: NonNullable<ReportData['compared']>;
  readonly locationId: string;
}) {
  const locations = useMemo(() => comparedLocations(summary, compared.summary), [summary, compared]);
  const figures = locations.find((each) => each.locationId === locationId)?.figures ?? [];
  const { differsAtMs } = compared;
  const { violations, firstViolation: first } = compared.summary;
  return (
    <>
      {violations > 0 && (
        <Verdict isHeld={false}>
          “{compared.title}” has {counted(violations, 'violation')}
          {first && `: the first ${first.invariant} ${first.target}, ${iso(first.atMs)}`}.
        </Verdict>
      )}
      <p class="small quiet">
        Beside “{compared.title}”:{' '}
        {differsAtMs === undefined ? 'all is the same' : `they differ from ${iso(differsAtMs)} on`}. Its power
        and limit are dashed.
      </p>
      <table class="compared">
        <thead>
          <tr>
            {['', title, compared.title].map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {figures.map(({ name, first: own, second: other }) => (
            <tr key={name} class={own === other ? undefined : 'differs'}>
              <th scope="row">{name}</th>
              <td>{own}</td>
              <td>{other}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

function kwh(wattHours: number): string {
  const digits = wattHours < 100_000 ? 1 : 0;
  const grouped = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return `${(wattHours / 1000).toLocaleString('en', grouped)} kWh`;
}

function percent(share: number | undefined): string {
  return share === undefined ? '–' : `${(share * 100).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`;
}
