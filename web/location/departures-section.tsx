// Declared departures of a location: the forecast for each car, and the planned power as stacked areas.
import { useMemo } from 'preact/hooks';
import { kwText } from '../../machines/values/figures.js';
import type { EpochMs } from '../../machines/values/time.js';
import type { DepartureForecast, DeparturePlanView } from '../../src/features/departures/contract.js';
import { path } from '../api/client.js';
import { useResource } from '../api/resource.js';
import { Badge } from '../ui/badge.js';
import { localText } from '../ui/time.js';
import { Chart, type LegendEntry } from './chart.js';
import { Sentence } from './sentence.js';
import { useEvery } from './server-clock.js';
import { type StepLine, valueAt } from './step-line.js';
import type { PlotLine } from './step-plot.js';

const HEIGHT_PX = 200;
const PLAN_EVERY_MS = 60_000;
/** More cars share one area, because a reader distinguishes no more colours. */
const COLOURS = 6;

export function DeparturesSection({
  locationId,
  departures,
  nowMs,
}: {
  readonly locationId: string;
  /** The earliest first. */
  readonly departures: readonly DepartureForecast[];
  readonly nowMs: EpochMs;
}) {
  if (departures.length === 0) return null;
  const late = departures.filter(({ isAtRisk }) => isAtRisk);
  return (
    <section class="panel stack" aria-label="Departures">
      <h2>Departures</h2>
      <PlanChart
        locationId={locationId}
        declared={departures
          .map((each) => `${nameOf(each)} ${each.departureTime} ${each.energyNeedKwh}`)
          .join()}
        nowMs={nowMs}
      />
      <table class="departures" aria-label="Departing cars">
        <thead>
          <tr>
            <th scope="col">Connector</th>
            <th scope="col">Leaves</th>
            <th scope="col">Has</th>
            <th scope="col">Forecast</th>
          </tr>
        </thead>
        <tbody>
          {departures.map((each) => (
            <tr key={nameOf(each)}>
              <th scope="row">{nameOf(each)}</th>
              <td>{localText(each.departureTime, true)}</td>
              <td>
                {each.deliveredKwh.toFixed(1)} of {each.energyNeedKwh.toFixed(1)} kWh
              </td>
              <td>
                {each.isAtRisk ? (
                  <Badge tone="warning">Misses {each.missingKwh} kWh</Badge>
                ) : (
                  each.readyAt !== null && `Ready ${localText(each.readyAt, true)}`
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {late.length > 0 && (
        <ul class="small">
          {late.map((each) => (
            <li key={nameOf(each)}>
              {nameOf(each)}: <Sentence text={each.explanation} />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function nameOf({ controllerUuid, connectorId }: Pick<DepartureForecast, 'controllerUuid' | 'connectorId'>) {
  return `${controllerUuid}/${connectorId}`;
}

interface Stack {
  readonly lines: readonly PlotLine[];
  readonly legend: readonly LegendEntry[];
  /** Not summed, in the order of the legend. */
  readonly partsKw: readonly { readonly name: string; readonly line: StepLine }[];
}

function PlanChart({
  locationId,
  declared,
  nowMs,
}: {
  readonly locationId: string;
  /** The plan is read again if it changes. */
  readonly declared: string;
  readonly nowMs: EpochMs;
}) {
  const plan = useResource(
    (client, signal) => client.get<DeparturePlanView>(path`/locations/${locationId}/plan`, signal),
    [locationId, declared],
  );
  useEvery(PLAN_EVERY_MS, () => plan.reread());
  const { value } = plan;
  const stack = useMemo(() => (value === undefined ? undefined : stackOf(value)), [value]);
  const [first, last] = [value?.steps[0], value?.steps.at(-1)];
  if (value === undefined || stack === undefined || first === undefined || last === undefined) return null;
  const span = { fromMs: Date.parse(first.startTime), toMs: Date.parse(last.endTime) };
  return (
    <Chart
      key={stack.lines.length}
      label="Planned power"
      legend={stack.legend}
      lines={stack.lines}
      unit="kW"
      heightPx={HEIGHT_PX}
      span={span}
      markMs={nowMs}
      readingsAt={(atMs) =>
        stack.partsKw.flatMap(({ name, line }) => {
          const kw = valueAt(line, atMs);
          return kw === null || kw === 0 ? [] : [`${name} ${kwText(kw)}`];
        })
      }
    >
      {summaryOf(value)}
    </Chart>
  );
}

/** Cars on top of each other, the earliest departure at the bottom, under the limit in force. */
function stackOf({ steps, departures }: DeparturePlanView): Stack {
  const named = departures.slice(0, COLOURS).map((each) => ({ name: nameOf(each), kw: each.powerKw }));
  const rest = departures.slice(COLOURS);
  const others = steps.map(({ otherKw }, i) =>
    rest.reduce((sumKw, { powerKw }) => sumKw + (powerKw[i] ?? 0), otherKw),
  );
  const parts = [...named, ...(others.some((kw) => kw > 0) ? [{ name: 'Other cars', kw: others }] : [])];
  const lineOf = (kw: readonly number[]): StepLine => [
    ...steps.map(({ startTime }, i) => ({ atMs: Date.parse(startTime), value: kw[i] ?? 0 })),
    { atMs: Date.parse(steps.at(-1)?.endTime ?? ''), value: null },
  ];
  const sums = steps.map(() => 0);
  const areas = parts.map(({ name, kw }, nth): PlotLine => {
    for (const [i, each] of kw.entries()) sums[i] = (sums[i] ?? 0) + each;
    return { label: name, line: lineOf(sums), colour: colourOf(nth), isFilled: true };
  });
  const limit = {
    label: 'Limit in force',
    line: lineOf(steps.map(({ limitKw }) => limitKw)),
    colour: 'limit',
  };
  return {
    // The highest sum is drawn first, so that the lower ones lie on it.
    lines: [...areas.toReversed(), limit],
    legend: [
      ...parts.map(({ name }, nth) => ({ colour: colourOf(nth), text: name })),
      { colour: 'in-force', text: 'Limit in force' },
    ],
    partsKw: parts.map(({ name, kw }) => ({ name, line: lineOf(kw) })),
  };
}

function colourOf(nth: number): string {
  return nth < COLOURS ? `plan-${nth + 1}` : 'idle';
}

function summaryOf({ departures, steps }: DeparturePlanView): string {
  const late = departures.filter(({ isAtRisk }) => isAtRisk).length;
  const until = localText(steps.at(-1)?.endTime ?? '');
  const ready = `${departures.length - late} of ${departures.length} declared cars will be ready`;
  return `Planned power until ${until}: ${ready}.`;
}
