// Every figure of a location in two runs as text, for the terminal and for the page of a report.
import { compareNaturally } from '../../machines/values/natural-order.js';
import type { LocationSummary, Summary } from './summary.js';

/** A figure of a location in both runs, as text with its unit; '–' if a run lacks it. */
export interface ComparedFigure {
  readonly name: string;
  readonly first: string;
  readonly second: string;
}

export interface ComparedLocation {
  readonly locationId: string;
  readonly figures: readonly ComparedFigure[];
}

const FIGURES: readonly (readonly [string, (location: LocationSummary) => string])[] = [
  ['peak', ({ peakW }) => kw(peakW)],
  ['limit at the peak', ({ limitAtPeakW }) => kw(limitAtPeakW)],
  ['energy', ({ energyWh }) => kwh(energyWh)],
  ['delivered to cars', ({ deliveredWh }) => kwh(deliveredWh)],
  ['of requested energy', ({ deliveredWh, requestedWh }) => percent(ratio(deliveredWh, requestedWh))],
  ['utilised', ({ utilisation }) => percent(utilisation)],
  ['overshoot', ({ overshootKws }) => `${overshootKws.toFixed(1)} kWs`],
  ['limit changes', ({ limitChanges }) => String(limitChanges)],
  ['starts/session', ({ startsPerSession }) => decimal(startsPerSession)],
  ['stops/session', ({ stopsPerSession }) => decimal(stopsPerSession)],
  ['fairness', ({ fairness }) => decimal(fairness, 3)],
  ['locked and throttled', ({ lockedThrottledS }) => `${Math.round(lockedThrottledS)} s`],
  ['violations', ({ violations }) => String(violations)],
];

/** All locations of both runs, by id. */
export function comparedLocations(first: Summary, second: Summary): readonly ComparedLocation[] {
  const ids = new Set(
    [first, second].flatMap(({ locations }) => locations.map(({ locationId }) => locationId)),
  );
  return [...ids].sort(compareNaturally).map((locationId) => {
    const [one, other] = [first, second].map(({ locations }) =>
      locations.find((location) => location.locationId === locationId),
    );
    const say = (location: LocationSummary | undefined, of: (location: LocationSummary) => string) =>
      location === undefined ? '–' : of(location);
    return {
      locationId,
      figures: FIGURES.map(([name, of]) => ({ name, first: say(one, of), second: say(other, of) })),
    };
  });
}

function ratio(part: number, whole: number): number | undefined {
  return whole === 0 ? undefined : part / whole;
}

function kw(watts: number | undefined): string {
  return watts === undefined ? '–' : `${(watts / 1000).toFixed(1)} kW`;
}

function kwh(wattHours: number): string {
  return `${(wattHours / 1000).toFixed(1)} kWh`;
}

function percent(share: number | undefined): string {
  return share === undefined ? '–' : `${(100 * share).toFixed(1)} %`;
}

function decimal(value: number | undefined, digits = 2): string {
  return value === undefined ? '–' : value.toFixed(digits);
}
